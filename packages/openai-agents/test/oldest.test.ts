/** The oldest version of the SDK that has transactions of histories. */
import { describe, vi } from 'vitest';

vi.mock('@openai/agents-core', () => import('agents-core-oldest'));

describe('with the oldest supported version of the SDK', async () => {
  await import('./differential.test.ts');
});

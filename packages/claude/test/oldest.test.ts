/** The oldest version of the SDK whose session stores have summaries. */
import { describe, vi } from 'vitest';

vi.mock('@anthropic-ai/claude-agent-sdk', () => import('claude-agent-sdk-oldest'));

describe('with the oldest supported version of the SDK', async () => {
  await import('./differential.test.ts');
  await import('./session-store.test.ts');
});

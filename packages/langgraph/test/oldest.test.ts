/** The oldest supported version of LangGraph's checkpoint package. */
import { describe, vi } from 'vitest';

vi.mock('@langchain/langgraph-checkpoint', () => import('langgraph-checkpoint-oldest'));

describe('with the oldest supported version of the framework', async () => {
  await import('./saver.test.ts');
  await import('./memory.test.ts');
});

/** LangGraph's own validation suite for checkpointers, on every engine and over HTTP. */
import type { CheckpointSaverTestInitializer } from '@langchain/langgraph-checkpoint-validation';
import type { Store } from '@tidemark/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type RunnerTask, test } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';

/** The number of cases of the suite in the version that is installed. Fewer would mean that some were not run. */
const CASES = 726;

// The suite takes the functions of the runner from the global object, when it is loaded.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test });
const { deltaChannelHistoryTests, validate } = await import('@langchain/langgraph-checkpoint-validation');

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`on ${engine}`, () => {
    it('is tested with all cases', ({ task }) => {
      // This case is one more.
      expect(countOf(task.suite!.tasks)).toBe(CASES + 1);
    });

    const stores = new Map<TidemarkSaver, Store>();
    const initializer: CheckpointSaverTestInitializer<TidemarkSaver> = {
      checkpointerName: 'TidemarkSaver',
      async createCheckpointer() {
        const store = await openStore();
        const saver = new TidemarkSaver(store);
        stores.set(saver, store);
        return saver;
      },
      async destroyCheckpointer(saver) {
        await stores.get(saver)?.close();
        stores.delete(saver);
      },
    };
    validate(initializer);
    // `validate` leaves these out.
    describe('delta channels', () => deltaChannelHistoryTests(initializer));
  });
}

/** Returns the number of tests that are not skipped. */
function countOf(tasks: readonly RunnerTask[]): number {
  const counts = tasks.map((task) => {
    if ('tasks' in task) return countOf(task.tasks);
    return task.mode === 'skip' || task.mode === 'todo' ? 0 : 1;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** LangGraph's own validation suite for checkpointers, on every engine. */
import type { Store } from '@tidemark/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';

// The suite takes the functions of the runner from the global object, when it is loaded.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test });
const { validate } = await import('@langchain/langgraph-checkpoint-validation');

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`on ${engine}`, () => {
    const stores = new Map<TidemarkSaver, Store>();
    validate<TidemarkSaver>({
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
    });
  });
}

/** Runs the kit of KV, agents and artifacts on shared SQL, with a second handle on the file as its peer. */
import { registerConformance } from '@tidemark/conformance';
import { afterAll, describe, it } from 'vitest';
import { openTestStore, TestFile } from './database.ts';

registerConformance(
  { describe, it, afterAll },
  'shared SQL',
  () => {
    const file = new TestFile();
    let store = openTestStore(file);
    return {
      store,
      peer: async () => openTestStore(file),
      reopen: async () => {
        await store.close();
        store = openTestStore(file);
        return store;
      },
      advance: (ms) => file.advance(ms),
      dispose: () => file.dispose(),
    };
  },
  { domains: ['kv', 'jobs', 'agents', 'artifacts'] },
);

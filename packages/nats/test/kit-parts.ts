/** The store under test on streams of its own; used outside of tests too. */
import type { StoreUnderTest } from '@tidemark/conformance';
import { type NatsOptions, natsStore } from '../src/index.ts';
import { newPrefix, removeStreams } from './servers.ts';

export async function openUnderTest(options: NatsOptions): Promise<StoreUnderTest> {
  // Many processes share two cores: a slow answer is none of the faults that are looked for here.
  const given = { timeoutMs: 20_000, ...options, prefix: newPrefix() };
  const open = () => natsStore(given);
  const store = await open();
  let current = store;
  return {
    store,
    peer: open,
    reopen: async () => {
      await current.close();
      current = await open();
      return current;
    },
    dispose: () => removeStreams(given.url, given.prefix),
  };
}

/** Opens stores under test on their own streams. Also used outside tests. */
import type { StoreUnderTest } from '@tidemark/conformance';
import { type NatsOptions, natsStore } from '../src/index.ts';
import { newPrefix, removeStreams } from './servers.ts';

export async function openUnderTest(options: NatsOptions): Promise<StoreUnderTest> {
  // Many processes share two cores: slow answers are not the faults that this test looks for.
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

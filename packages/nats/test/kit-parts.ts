/** The store under test on streams of its own, and which cases of the kit may run at the same time on one; used outside of tests too. */
import type { ConformanceCase, StoreUnderTest } from '@tidemark/conformance';
import { type NatsOptions, natsStore } from '../src/index.ts';
import { newPrefix, removeStreams } from './servers.ts';

/** Cases that sweep the whole store with a grace of a millisecond, which takes the bytes that others are just storing. */
const SWEEPING = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
];

export function sharesStore({ id, closesStore, needs }: ConformanceCase): boolean {
  const walksTheFeed = needs?.includes('runs.feed') || id.startsWith('runs/feed');
  return !closesStore && !needs?.includes('reopen') && !walksTheFeed && !SWEEPING.includes(id);
}

export async function openUnderTest(options: NatsOptions): Promise<StoreUnderTest> {
  const given = { ...options, prefix: newPrefix() };
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

/** Which cases of the conformance kit may run at the same time on one store. */
import type { ConformanceCase } from '@tidemark/conformance';

/** Cases that sweep the whole store with a grace of a millisecond, which takes the bytes that others are just storing. */
const SWEEPING = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
];

export function sharesStore({ id, closesStore, needs }: ConformanceCase): boolean {
  // The feed is everybody's: to walk it beside all other cases takes long.
  const walksTheFeed = needs?.includes('runs.feed') || id.startsWith('runs/feed');
  return !closesStore && !needs?.includes('reopen') && !walksTheFeed && !SWEEPING.includes(id);
}

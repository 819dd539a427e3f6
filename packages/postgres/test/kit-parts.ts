/** Which cases of the conformance kit may run at the same time on one store. */
import type { ConformanceCase } from '@tidemark/conformance';

/** Cases that work on the whole store and not only on their own tenant: they sweep it, or walk everybody's feed. */
const OF_THE_WHOLE_STORE = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
  'runs/feed-resumes-from-any-cursor',
];

export function sharesStore({ id, closesStore, needs }: ConformanceCase): boolean {
  return !closesStore && !needs?.includes('reopen') && !OF_THE_WHOLE_STORE.includes(id);
}

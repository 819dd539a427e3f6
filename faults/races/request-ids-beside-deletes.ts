/**
 * One client creates records that must be absent and sends every request several times, as after lost replies. Another
 * deletes them at the same time. Each request must be applied at most once, and once it has returned true it must
 * always return true.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { KvStore } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

const KEYS = 4;
const REQUESTS = 6;
const SENDINGS = 4;

export const requestIdsBesideDeletes: Race = {
  summary: "' requests are retried during deletes of their records",
  rounds: { short: 6, long: 500 },

  async round({ a, b, random, id }: Arena): Promise<RoundResult> {
    const total: RoundResult = { checks: 0, problems: [] };
    const raceFor = async (key: string) => {
      const sending = new AbortController();
      const deleting = deleteUntil(sending.signal, b.kv, key);
      const delays = () => Array.from({ length: SENDINGS }, () => random.between(0, 12));
      const requests = Array.from({ length: REQUESTS }, (_, n) => sendOften(a.kv, key, `${key}-${n}`, delays(), total));
      const applied = (await Promise.all(requests)).filter((wasApplied) => wasApplied).length;
      sending.abort();
      const made = (await deleting) + ((await b.kv.get(key)) === null ? 0 : 1);
      total.checks += REQUESTS;
      if (made !== applied) total.problems.push(`${key}: ${applied} requests made the record ${made} times`);
    };
    await Promise.all(Array.from({ length: KEYS }, (_, n) => raceFor(`requests.${id}.k${n}`)));
    return total;
  },
};

/** Sends one request at several moments. Returns whether it was applied. */
async function sendOften(
  kv: KvStore,
  key: string,
  requestId: string,
  delaysMs: readonly number[],
  { problems }: RoundResult,
): Promise<boolean> {
  let wasApplied = false;
  for (const delayMs of delaysMs) {
    await sleep(delayMs);
    const before = wasApplied;
    const applied = await kv.compareAndSwap(key, 'state', null, 'made', { requestId });
    if (before && !applied) problems.push(`${requestId} was answered with true, then with false`);
    wasApplied ||= applied;
  }
  return wasApplied;
}

/** Deletes the record repeatedly. Returns how often it existed. */
async function deleteUntil(signal: AbortSignal, kv: KvStore, key: string): Promise<number> {
  let deleted = 0;
  while (!signal.aborted) {
    if (await kv.delete(key)) deleted++;
    await sleep(2);
  }
  return deleted;
}

/**
 * Stopwatches for guarantees about short times, because on a busy machine a short lifetime may be over before the case
 * checks it.
 */

import type { Bench } from '../kit.ts';

/** How far the clocks of kit and engine may differ. */
const SLACK_MS = 50;

/**
 * Starts a stopwatch. It returns true while less than `ms` has passed on the kit's clock. Only while it does must a
 * lifetime of `ms` not have ended.
 */
export function stopwatch(ms: number): () => boolean {
  const began = performance.now();
  return () => performance.now() - began < ms - SLACK_MS;
}

const DAY_MS = 86_400_000;

/**
 * Starts a stopwatch on the store's own clock, exact to the millisecond when the kit moves that clock. It measures with
 * a long-lived record. While it returns true, a lifetime of `ms` that started later cannot have ended.
 */
export async function exactStopwatch({ tenant, id }: Bench, ms: number): Promise<() => Promise<boolean>> {
  const isFresh = stopwatch(ms);
  if (!tenant.info.capabilities.kv) return async () => isFresh();
  const key = id('stopwatch');
  await tenant.kv.put(key, { started: 'now' }, { ttl: DAY_MS });
  return async () => {
    const { ttl = 0 } = (await tenant.kv.get(key)) ?? {};
    return isFresh() && DAY_MS - ttl < ms;
  };
}

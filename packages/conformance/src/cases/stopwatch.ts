/** Whether time enough is left for a promise about it: on a busy machine what is short may be over before it is looked at. */

import type { Bench } from '../kit.ts';

/** How far the clocks of kit and engine may be apart. */
const SLACK_MS = 50;

/** Tells whether less than `ms` has passed on the kit's own clock: only then must what lives so long still be there. */
export function stopwatch(ms: number): () => boolean {
  const began = performance.now();
  return () => performance.now() - began < ms - SLACK_MS;
}

const DAY_MS = 86_400_000;

/**
 * The same on the store's own clock, to the millisecond, where the kit moves it: a record that lives long tells how much has
 * passed. What is begun after it was started, and ends within `ms`, must still be there while it says true.
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

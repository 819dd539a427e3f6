/** Times of jobs: how many digits they have in the index, and until when a job is parked. */
import { checkDuration, checkInteger } from '../checks/numbers.ts';
import { checkObject } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';

/** The digits of a time in index keys. */
export const TIME_DIGITS = 15;
const MAX_TIME = 10 ** TIME_DIGITS - 1;

/** When a parked job is due. */
export type ParkTime = { untilMs: number } | { delayMs: number };

/** Validates the time until which a job is parked. */
export function checkParkTime(when: unknown): ParkTime {
  const { until, delay } = checkObject(when, 'when');
  const untilMs = until === undefined ? null : checkInteger(until, 'until', 0, MAX_TIME);
  const delayMs = delay === undefined ? null : checkDuration(delay, 'delay');
  if (untilMs !== null && delayMs === null) return { untilMs };
  if (untilMs === null && delayMs !== null) return { delayMs };
  throw invalidArgument('until', 'a time, or else delay, and not both', until ?? null);
}

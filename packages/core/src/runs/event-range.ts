/** The part of a run's log that `fetchEvents` and `readEvents` cover, and the part that remains after a page. */

import { checkLife } from '../checks/life.ts';
import { checkInteger, checkLimit } from '../checks/numbers.ts';
import { checkId, checkOneOf } from '../checks/text.ts';
import type { FetchOptions, TailOptions } from '../contracts/runs.ts';

const DEFAULT_FETCH = 1_000;
const MAX_FETCH = 10_000;

/** The part of a run's log that a page covers: events after `afterSeq` and before `beforeSeq`, both exclusive. */
export interface EventRange {
  afterSeq: number;
  beforeSeq: number | undefined;
  limit: number;
  order: 'newest' | 'oldest';
  /** The life to read; absent for the current one. */
  life?: number;
}

/** Checks the arguments of `fetchEvents` and `readEvents`. */
export function checkEventRange(runId: unknown, options: FetchOptions | undefined): EventRange {
  checkId(runId, 'runId');
  return {
    afterSeq: options?.afterSeq === undefined ? 0 : checkInteger(options.afterSeq, 'afterSeq', 0),
    beforeSeq: options?.beforeSeq === undefined ? undefined : checkInteger(options.beforeSeq, 'beforeSeq', 1),
    limit: checkLimit(options?.limit, DEFAULT_FETCH, MAX_FETCH),
    order: options?.order === undefined ? 'oldest' : checkOneOf(options.order, 'order', ['newest', 'oldest']),
    ...(options?.life === undefined ? {} : { life: checkLife(options.life) }),
  };
}

/** Checks the arguments of `tail`, which always reads forwards and has no end. */
export function checkTail(runId: unknown, options: TailOptions | undefined): EventRange {
  return checkEventRange(runId, { afterSeq: options?.afterSeq, limit: options?.limit, life: options?.life });
}

/** Returns the range that follows a page, or `null` if the page was the last. */
export function rangeAfter(range: EventRange, events: readonly { runSeq: number }[]): EventRange | null {
  const last = events.at(-1)?.runSeq;
  if (last === undefined || events.length < range.limit) return null;
  if (range.order === 'newest') return last > range.afterSeq + 1 ? { ...range, beforeSeq: last } : null;
  return range.beforeSeq === undefined || last + 1 < range.beforeSeq ? { ...range, afterSeq: last } : null;
}

/**
 * Reads of the feed that hold on a store in use: it is long, and others write to it at the same time. On PostgreSQL a page may
 * end before an acknowledged event while a transaction beside it is open, so the next one waits.
 */
import type { FeedItem, FeedOptions, Store } from '@tidemark/core';
import { expect } from '../../expect.ts';
import type { Bench } from '../../kit.ts';
import { LARGE_FEED_PAGE } from '../../workbench.ts';
import { runEvent } from './events.ts';

/** How long a page waits for what is late, in milliseconds. */
const PATIENCE = 2_000;
const MOST_WAITS = 5;
/** So many pages are as small as the case wants them; where others write much at the same time, the rest is read in large ones. */
const MOST_SMALL_PAGES = 50;

/** The limit of a page, the first of which has the number 1. */
export function limitOfPage(page: number, limit: number | undefined): { limit?: number } {
  if (page > MOST_SMALL_PAGES) return { limit: LARGE_FEED_PAGE };
  return limit === undefined ? {} : { limit };
}

/**
 * Reads pages until so many items came, and then to the end, so that one too many shows as well. A page may be empty when
 * all it looked at was filtered out; the cursor then moves on.
 */
export async function pagedFeed(
  store: Store,
  count: number,
  options: FeedOptions & { limit?: number } = {},
): Promise<FeedItem[]> {
  const whole: FeedItem[] = [];
  let { cursor } = options;
  for (let [pages, waits] = [1, 0]; ; pages++) {
    const { items, next } = await store.runs.feedPage({
      ...options,
      ...limitOfPage(pages, options.limit),
      ...(whole.length < count ? { wait: PATIENCE } : {}),
      ...(cursor === undefined ? {} : { cursor }),
    });
    whole.push(...items);
    if (next === undefined || next === cursor) {
      if (whole.length >= count || ++waits === MOST_WAITS) return whole;
    } else {
      cursor = next;
    }
  }
}

/** A cursor before everything that the case writes from now on: that of an event which is written to be found. */
export async function feedMark(bench: Bench): Promise<string> {
  const { runs } = bench.tenant;
  const { eventId } = await runs.appendEvent(runEvent(bench, { runId: bench.id('mark'), eventType: 'FeedMark' }));
  let after = bench.feedStart;
  for (let waits = 0; ; ) {
    const page = { limit: LARGE_FEED_PAGE, wait: PATIENCE, ...(after === undefined ? {} : { cursor: after }) };
    const { items, next } = await runs.feedPage(page);
    const mark = items.find((item) => item.event.eventId === eventId);
    if (mark) return mark.cursor;
    if (next === after) waits++;
    expect(waits < MOST_WAITS, 'the feed has an event that was acknowledged before it was read');
    after = next;
  }
}

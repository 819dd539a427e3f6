/**
 * Reads the feed of a store in use, where the feed is long and other clients write at the same time. On PostgreSQL a
 * page may end before an acknowledged event while another transaction is open, so the next page waits.
 */
import type { FeedItem, FeedOptions, Store } from '@tidemark/core';
import { expect } from '../../expect.ts';
import type { Bench } from '../../kit.ts';
import { LARGE_FEED_PAGE } from '../../workbench.ts';
import { runEvent } from './events.ts';

/** How long a page waits for late events, in milliseconds. */
const LATE_EVENT_WAIT_MS = 2_000;
const MAX_WAITS = 5;
/**
 * The number of pages of the size that the case requests. If other clients write a lot at the same time, the rest is
 * read in large pages.
 */
const MAX_SMALL_PAGES = 50;

/** Returns the limit of a page, counted from 1. */
export function limitOfPage(page: number, limit: number | undefined): { limit?: number } {
  if (page > MAX_SMALL_PAGES) return { limit: LARGE_FEED_PAGE };
  return limit === undefined ? {} : { limit };
}

/**
 * Reads pages until `count` items arrived, then to the end, so that an extra item is noticed as well. A page may be
 * empty when all of its events were filtered out; its cursor still advances.
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
      ...(whole.length < count ? { wait: LATE_EVENT_WAIT_MS } : {}),
      ...(cursor === undefined ? {} : { cursor }),
    });
    whole.push(...items);
    if (next === undefined || next === cursor) {
      if (whole.length >= count || ++waits === MAX_WAITS) return whole;
    } else {
      cursor = next;
    }
  }
}

/** Appends a marker event and returns its cursor, which precedes everything the case writes afterwards. */
export async function feedMark(bench: Bench): Promise<string> {
  const { runs } = bench.tenant;
  const { eventId } = await runs.appendEvent(runEvent(bench, { runId: bench.id('mark'), eventType: 'FeedMark' }));
  let after = bench.feedStart;
  for (let waits = 0; ; ) {
    const page = {
      limit: LARGE_FEED_PAGE,
      wait: LATE_EVENT_WAIT_MS,
      ...(after === undefined ? {} : { cursor: after }),
    };
    const { items, next } = await runs.feedPage(page);
    const mark = items.find((item) => item.event.eventId === eventId);
    if (mark) return mark.cursor;
    if (next === after) waits++;
    expect(waits < MAX_WAITS, 'the feed has an event that was acknowledged before the read');
    after = next;
  }
}

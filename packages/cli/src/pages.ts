/** Reads the pages of a list up to a limit, and prints a note when there is more. */
import type { Page, PageOptions } from '@tidemark/core';
import { integer, withDefault } from './options.ts';
import type { Output } from './output.ts';

const MAX_PAGE = 1_000;

/** The `--limit` option of list commands. */
export const limitOption = withDefault(integer('n', 'maximum number to show', 1), 100);

type FetchPage<T> = (options: PageOptions) => Promise<Page<T>>;

/**
 * Yields the items of a list, or of several lists one after the other, up to a limit for all lists together. Items that
 * `keep` rejects do not count.
 */
export async function* upTo<T>(
  limit: number,
  lists: FetchPage<T> | readonly FetchPage<T>[],
  out: Output,
  keep?: (item: T) => boolean,
): AsyncGenerator<T, void, undefined> {
  let left = limit;
  for (const fetchPage of [lists].flat()) {
    let cursor: string | undefined;
    do {
      // One more item than the limit is read, which shows whether there are more.
      const size = keep ? MAX_PAGE : Math.max(1, Math.min(left, MAX_PAGE));
      const page = await fetchPage({ limit: size, ...(cursor === undefined ? {} : { cursor }) });
      const items = keep ? page.items.filter(keep) : page.items;
      yield* items.slice(0, left);
      const isOver = items.length > left;
      left = Math.max(0, left - items.length);
      cursor = page.next;
      // Without a filter, a further page has items that are kept.
      if (isOver || (keep === undefined && cursor !== undefined && left === 0))
        return out.note(`There are more than ${limit}; use --limit to show more.`);
    } while (cursor !== undefined);
  }
}

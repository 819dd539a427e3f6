/** Reads the pages of a list up to a limit, and prints a note when there is more. */
import type { Page, PageOptions } from '@tidemark/core';
import { integer, withDefault } from './options.ts';
import type { Output } from './output.ts';

const LARGEST_PAGE = 1_000;

/** The `--limit` option of list commands. */
export const limitOption = withDefault(integer('n', 'maximum number to show', 1), 100);

type FetchPage<T> = (options: PageOptions) => Promise<Page<T>>;

/** Yields the items of a list, or of several lists one after the other, up to a limit for all lists together. */
export async function* upTo<T>(
  limit: number,
  lists: FetchPage<T> | readonly FetchPage<T>[],
  out: Output,
): AsyncGenerator<T, void, undefined> {
  let left = limit;
  for (const fetchPage of [lists].flat()) {
    let cursor: string | undefined;
    do {
      // One more item than the limit is read, which shows whether there are more.
      const size = Math.max(1, Math.min(left, LARGEST_PAGE));
      const page = await fetchPage({ limit: size, ...(cursor === undefined ? {} : { cursor }) });
      const isOver = left === 0 && page.items.length > 0;
      if (!isOver) yield* page.items;
      left = Math.max(0, left - page.items.length);
      cursor = page.next;
      if (isOver || (cursor !== undefined && left === 0))
        return out.note(`There are more than ${limit}; use --limit to show more.`);
    } while (cursor !== undefined);
  }
}

/** Reads the pages of a list up to a limit, and prints a note when there is more. */
import type { Page, PageOptions } from '@tidemark/core';
import { integer, withDefault } from './options.ts';
import type { Output } from './output.ts';

const LARGEST_PAGE = 1_000;

/** The `--limit` option of list commands. */
export const limitOption = withDefault(integer('n', 'maximum number to show', 1), 100);

export async function* upTo<T>(
  limit: number,
  fetchPage: (options: PageOptions) => Promise<Page<T>>,
  out: Output,
): AsyncGenerator<T, void, undefined> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const page = await fetchPage({ limit: Math.min(left, LARGEST_PAGE), ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    left -= page.items.length;
    cursor = page.next;
  } while (cursor !== undefined && left > 0);
  if (cursor !== undefined) await out.note(`There are more than ${limit}; use --limit to show more.`);
}

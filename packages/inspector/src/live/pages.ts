/** Reads paged lists up to a limit. */
import type { Page } from '@tidemark/core/portable';

export interface Reading<T> {
  items: T[];
  /** False if the limit was reached before the end. */
  isComplete: boolean;
}

/** Reads pages until the end, or until there are at least `most` items. */
export async function readUpTo<T>(
  most: number,
  read: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<Reading<T>> {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    items.push(...page.items);
    if (page.next === undefined) return { items, isComplete: true };
    if (items.length >= most) return { items, isComplete: false };
    cursor = page.next;
  }
}

/**
 * The number of items of a topic to read at once: a hundred, or fewer if they are large, because a reader takes a
 * limited amount.
 */
import type { StreamItem } from './source.ts';

const MOST_ITEMS = 100;

/** The amount a reader takes, and that may be kept for it, at a time. */
export const PAGE_CHARACTERS = 256 * 1_024;

export class PageSize {
  #items = MOST_ITEMS;

  get items(): number {
    return this.#items;
  }

  /** Adjusts the size to the items of a page. */
  learn(page: readonly StreamItem[]): void {
    if (page.length === 0) return;
    const characters = page.reduce((sum, { data }) => sum + data.length, 0);
    const fitting = Math.floor((PAGE_CHARACTERS * page.length) / Math.max(1, characters));
    this.#items = Math.min(MOST_ITEMS, Math.max(1, fitting));
  }
}

/**
 * Determines the number of items of a topic to read at once: a hundred, or fewer if the items are large, because a
 * reader accepts a limited amount of data.
 */
import type { StreamItem } from './source.ts';

const MAX_ITEMS = 100;

/** The number of characters that a reader accepts, and that may be kept for it, at a time. */
export const PAGE_CHARACTERS = 256 * 1_024;

export class PageSize {
  #items = MAX_ITEMS;

  get items(): number {
    return this.#items;
  }

  /** Adjusts the size to the length of the items in a page. */
  learn(page: readonly StreamItem[]): void {
    if (page.length === 0) return;
    const characters = page.reduce((sum, { data }) => sum + data.length, 0);
    const fitting = Math.floor((PAGE_CHARACTERS * page.length) / Math.max(1, characters));
    this.#items = Math.min(MAX_ITEMS, Math.max(1, fitting));
  }
}

/** How many items of a topic to read at once: a hundred, and fewer when they are large, as a reader takes only so much. */
import type { StreamItem } from './source.ts';

const MOST_ITEMS = 100;

/** What a reader takes, and may be kept for, at a time. */
export const PAGE_CHARACTERS = 256 * 1_024;

export class PageSize {
  #items = MOST_ITEMS;

  get items(): number {
    return this.#items;
  }

  /** Learns from a page how large items are. */
  learn(page: readonly StreamItem[]): void {
    if (page.length === 0) return;
    const characters = page.reduce((sum, { data }) => sum + data.length, 0);
    const fitting = Math.floor((PAGE_CHARACTERS * page.length) / Math.max(1, characters));
    this.#items = Math.min(MOST_ITEMS, Math.max(1, fitting));
  }
}

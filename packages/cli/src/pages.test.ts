/** A limit counts the items of all lists together, and the note appears only if there are more. */
import type { Page, PageOptions } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import type { Output } from './output.ts';
import { upTo } from './pages.ts';

/** A list of numbers, in pages of at most two. */
function listOf(...items: number[]) {
  return async ({ limit = 2, cursor = '0' }: PageOptions): Promise<Page<number>> => {
    const end = Number(cursor) + Math.min(limit, 2);
    return { items: items.slice(Number(cursor), end), ...(end < items.length ? { next: String(end) } : {}) };
  };
}

async function shown(limit: number, ...lists: ReturnType<typeof listOf>[]) {
  const notes: string[] = [];
  const out = { note: async (text: string) => void notes.push(text) } as unknown as Output;
  return { items: await Array.fromAsync(upTo(limit, lists, out)), hasMore: notes.length > 0 };
}

describe('a limit with a filter', () => {
  const isEven = (it: number) => it % 2 === 0;

  it.each([
    [1, [1, 3, 5, 6], [6], false],
    [1, [1, 2, 3, 5, 6], [2], true],
    [2, [2, 4, 5, 7], [2, 4], false],
    [5, [1, 3], [], false],
  ])('of %i over %j shows %j', async (limit, items, kept, hasMore) => {
    const notes: string[] = [];
    const out = { note: async (text: string) => void notes.push(text) } as unknown as Output;
    expect(await Array.fromAsync(upTo(limit, listOf(...items), out, isEven))).toEqual(kept);
    expect(notes.length > 0).toBe(hasMore);
  });
});

describe('a limit', () => {
  it.each([
    [2, [[1, 2, 3], [4]], [1, 2], true],
    [3, [[1, 2, 3], [4]], [1, 2, 3], true],
    [3, [[1, 2, 3], [], []], [1, 2, 3], false],
    [4, [[1, 2, 3], [4]], [1, 2, 3, 4], false],
    [
      4,
      [
        [1, 2, 3],
        [4, 5],
      ],
      [1, 2, 3, 4],
      true,
    ],
    [9, [[], [1], [2]], [1, 2], false],
    [1, [[], []], [], false],
  ])('of %i over %j shows %j', async (limit, lists, items, hasMore) => {
    expect(await shown(limit, ...lists.map((it) => listOf(...it)))).toEqual({ items, hasMore });
  });
});

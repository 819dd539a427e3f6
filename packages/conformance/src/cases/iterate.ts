/** Helpers that read live iterators, pages and lists with concurrent writers, without waiting forever. */
import { expect } from '../expect.ts';

const IDLE_LIMIT_MS = 30_000;

/** Returns the first `count` items, then aborts and closes the iterator. Fails after half a minute without an item. */
export async function take<T>(count: number, start: (signal: AbortSignal) => AsyncIterable<T>): Promise<T[]> {
  const controller = new AbortController();
  const items: T[] = [];
  let isIdle = false;
  const timer = setTimeout(() => {
    isIdle = true;
    controller.abort();
  }, IDLE_LIMIT_MS);
  try {
    for await (const item of start(controller.signal)) {
      items.push(item);
      if (items.length >= count) break;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
  expect(!isIdle, `a live read yielded ${items.length} of ${count} items and then nothing for half a minute`);
  return items;
}

/** Repeats `meanwhile` until the work has finished. Rejects if either fails. */
export async function whileWorking(work: Promise<unknown>, meanwhile: () => Promise<void>): Promise<void> {
  let isWorking = true;
  const repeat = async () => {
    while (isWorking) {
      await meanwhile();
      await new Promise(setImmediate);
    }
  };
  const worked = work.finally(() => {
    isWorking = false;
  });
  await Promise.all([worked, repeat()]);
}

/** Returns all items of an iterator that ends. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

type ReadPage<T> = (cursor: string | undefined) => Promise<{ items: T[]; next?: string }>;

/** Yields the pages of a list, following `next` to the end. */
async function* pagesOf<T>(page: ReadPage<T>): AsyncGenerator<T[], void, undefined> {
  let cursor: string | undefined;
  do {
    const { items, next } = await page(cursor);
    yield items;
    cursor = next;
  } while (cursor !== undefined);
}

/** Returns the items of all pages of a list. */
export async function allPages<T>(page: ReadPage<T>): Promise<T[]> {
  return (await all(pagesOf(page))).flat();
}

/** Returns the number of items on each page, up to the page without `next`. */
export async function pageSizes(page: ReadPage<unknown>): Promise<number[]> {
  return (await all(pagesOf(page))).map((items) => items.length);
}

/** Returns 1, 2, … count. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Reads from live iterators, pages and beside writers, without waiting for ever. */
import { expect } from '../expect.ts';

const IDLE_LIMIT_MS = 30_000;

/** The first `count` items; then aborts and closes the iterator. Fails when nothing more comes for half a minute. */
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
  expect(!isIdle, `a live read gave ${items.length} of ${count} items and then nothing for half a minute`);
  return items;
}

/** Does something again and again while the work goes on; the failure of either is the outcome. */
export async function whileWorking(work: Promise<unknown>, beside: () => Promise<void>): Promise<void> {
  let isWorking = true;
  const repeat = async () => {
    while (isWorking) {
      await beside();
      await new Promise(setImmediate);
    }
  };
  const worked = work.finally(() => {
    isWorking = false;
  });
  await Promise.all([worked, repeat()]);
}

/** Everything an iterator that ends by itself gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

type ReadPage<T> = (cursor: string | undefined) => Promise<{ items: T[]; next?: string }>;

/** The pages of a list, following `next` to the end. */
async function* pagesOf<T>(page: ReadPage<T>): AsyncGenerator<T[], void, undefined> {
  let cursor: string | undefined;
  do {
    const { items, next } = await page(cursor);
    yield items;
    cursor = next;
  } while (cursor !== undefined);
}

/** The items of all pages of a list. */
export async function allPages<T>(page: ReadPage<T>): Promise<T[]> {
  return (await all(pagesOf(page))).flat();
}

/** How many items each page of a list has, up to the one without a `next`. */
export async function pageSizes(page: ReadPage<unknown>): Promise<number[]> {
  return (await all(pagesOf(page))).map((items) => items.length);
}

/** 1, 2, … count. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

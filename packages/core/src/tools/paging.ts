/** Paging: cutting and continuing lists, and bounding an engine's iterator page by page (GEN-3). */
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import type { CallOptions, Page } from '../contracts/common.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from './context.ts';

/** Makes a page from up to `limit + 1` rows. `list` distinguishes the cursors of different lists. */
export function pageOf<Row, Item>(
  list: string,
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): Page<Item> {
  const items = rows.slice(0, limit).map(itemOf);
  if (rows.length <= limit) return { items };
  return { items, next: encodeCursor([list, keyOf(rows[limit - 1]!)]) };
}

/** Adds the names of items that were omitted because they are damaged, if any. */
export function withDamage<P extends Page<unknown>>(page: P, names: readonly string[]): P {
  return names.length === 0 ? page : { ...page, damaged: [...(page.damaged ?? []), ...names] };
}

/** Yields the items in arrays of at most `size`. */
export function* inParts<T>(items: readonly T[], size: number): Generator<T[], void, undefined> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Returns the last key of the previous page of this list; `null` for the first page. */
export function cursorKey(list: string, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const isOurs = (values: unknown[]) => values.length === 2 && values[0] === list && typeof values[1] === 'string';
  return decodeCursor<[string, string]>(cursor, isOurs)[1];
}

/**
 * Yields the chunks of an engine's iterator, each bounded by the time limit of a read. The consumer may take as long as
 * it likes between chunks.
 */
export async function* boundedChunks<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  open: (call: EngineCall) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const call = context.startCall(options);
  const chunks = open(call)[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await context.read(options, (bounds) => {
        call.deadline = bounds.deadline;
        return chunks.next();
      });
      if (next.done) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    // Not awaited: an engine that hangs in `next` would block the consumer for ever.
    if (!ended) chunks.return?.().catch(() => {});
  }
}

/** Yields the items of all pages of an engine's iterator, bounded page by page. */
export async function* boundedItems<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  open: (call: EngineCall) => AsyncIterable<readonly T[]>,
): AsyncGenerator<T, void, undefined> {
  for await (const page of boundedChunks(context, options, open)) yield* page;
}

/** Collects all items of an engine's iterator. */
export async function collectPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) for (const item of page) items.push(item);
  return items;
}

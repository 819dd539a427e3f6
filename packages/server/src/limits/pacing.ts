/** Charges work to its caller: lists that were read, and lines that are read and written. */
import { sleep } from '@tidemark/core/engine';
import type { Answer } from '../http/answer.ts';
import type { Call } from '../routes/route.ts';
import { accountOf } from './account.ts';
import { COST, costOfBytes, LARGE_BYTES } from './shares.ts';

/** Rows of a long list between two checks of the reader's share and limits. */
const ROWS_AT_ONCE = 50;
const VERY_LARGE_BYTES = 4 * 1_024 * 1_024;
const BLOCK_MS_PER_BYTE = 15 / 1_000_000;
const LIMITED_MS = 100;
/** Default number of rows of most lists. */
const DEFAULT_ROWS = 1_000;
const SHORT_LIST = 100;
const MOST_ROWS = 1_000;

/** Returns the number of rows of a list response; `null` for other responses. */
export function rowsOf({ body }: Answer): number | null {
  const items = (body as { items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? items.length : null;
}

type PayingCall = Pick<Call, 'principal' | 'services' | 'response'>;

/** Charges a list: its rows, or those requested if a filter may have dropped some, and its bytes. */
export function chargeScan({ principal, services }: PayingCall, rows: number, bytes: number): void {
  services.callers?.chargeScan(principal, rows, bytes);
  services.shares.charge(accountOf(principal), rows * COST.row + costOfBytes(bytes) / 2);
}

/** Yields the items of a long list no faster than its reader may read them. */
export async function* paced<T>(call: PayingCall, items: AsyncIterable<T>): AsyncGenerator<T> {
  const { principal, services, response } = call;
  let rows = 0;
  let bytes = response.socket?.bytesWritten ?? 0;
  const charge = (count: number) => {
    const written = response.socket?.bytesWritten ?? bytes;
    chargeScan(call, count, written - bytes);
    bytes = written;
  };
  try {
    for await (const item of items) {
      yield item;
      if (++rows % ROWS_AT_ONCE !== 0) continue;
      charge(ROWS_AT_ONCE);
      await services.shares.enter(accountOf(principal), 0, true);
      while (services.callers?.isOverScan(principal) && !response.destroyed) await sleep(LIMITED_MS);
    }
  } finally {
    // Otherwise many short reads would cost nothing.
    charge(rows % ROWS_AT_ONCE);
  }
}

interface Turn {
  /** Undefined if the work may begin now. */
  begun: Promise<void> | undefined;
  /** Must be called when the work is done. */
  end(): void;
}

/** Returns the turn of a tenant that appends this many events. */
export function turnToAppend({ principal, services }: PayingCall, events: number): Turn {
  const account = accountOf(principal);
  const cost = events * COST.appendedEvent;
  const begun = services.work.begin(account, cost);
  const turn = begun
    ? begun.then(() => services.shares.enter(account, cost, true))
    : services.shares.enter(account, cost, true);
  return { begun: turn, end: () => services.work.end(account, cost) };
}

/** Returns the cost of a list by its requested rows; 0 for a short one. */
export function heavyList(limit: number = DEFAULT_ROWS): number {
  return limit <= SHORT_LIST ? 0 : Math.min(limit, MOST_ROWS) * COST.listedRow;
}

/** Returns how many milliseconds a very large body blocks the event loop, by estimate; 0 for others. */
export function blockOf(bytes: number): number {
  return bytes <= VERY_LARGE_BYTES ? 0 : bytes * BLOCK_MS_PER_BYTE;
}

/** Returns the cost of a body by its size; 0 for a small one. */
export function heavyBytes(bytes: number): number {
  return bytes <= LARGE_BYTES ? 0 : costOfBytes(bytes);
}

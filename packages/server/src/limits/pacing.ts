/** Charges work to its caller: the lists that it reads, and the lines that it reads and writes. */
import { sleep } from '@tidemark/core/engine';
import type { Answer } from '../http/answer.ts';
import type { Call } from '../routes/route.ts';
import { accountOf } from './account.ts';
import { COST, costOfBytes, LARGE_BYTES } from './shares.ts';

/** The number of rows of a long list between two checks of the reader's share and limits. */
const ROWS_AT_ONCE = 50;
const VERY_LARGE_BYTES = 4 * 1_024 * 1_024;
const BLOCK_MS_PER_BYTE = 15 / 1_000_000;
const LIMITED_MS = 100;
/** The default number of rows in most lists. */
const DEFAULT_ROWS = 1_000;
const SHORT_LIST = 100;
const MAX_ROWS = 1_000;

/** Returns the number of rows of a list response; `null` for other responses. */
export function rowsOf({ body }: Answer): number | null {
  const items = (body as { items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? items.length : null;
}

type PayingCall = Pick<Call, 'principal' | 'services' | 'response'>;

/** Charges a list by its bytes and its rows. If a filter may have dropped rows, the requested number of rows counts. */
export function chargeScan({ principal, services }: PayingCall, rows: number, bytes: number): void {
  services.callers?.chargeScan(principal, rows, bytes);
  services.shares.charge(accountOf(principal), rows * COST.row + costOfBytes(bytes) / 2);
}

/** Yields the items of a long list, no faster than the limits of its reader allow. */
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
    // Charges the remaining rows, because many short reads would otherwise cost nothing.
    charge(rows % ROWS_AT_ONCE);
  }
}

interface Turn {
  /** Resolves when the work may begin. Undefined if it may begin at once. */
  begun: Promise<void> | undefined;
  /** Must be called when the work is done. */
  end(): void;
}

/** Returns the turn in which a tenant may append this many events. */
export function turnToAppend({ principal, services }: PayingCall, events: number): Turn {
  const account = accountOf(principal);
  const cost = events * COST.appendedEvent;
  const begun = services.work.begin(account, cost);
  const turn = begun
    ? begun.then(() => services.shares.enter(account, cost, true))
    : services.shares.enter(account, cost, true);
  return { begun: turn, end: () => services.work.end(account, cost) };
}

/** Returns the cost of a list by the number of requested rows; 0 for a short list. */
export function heavyList(limit: number = DEFAULT_ROWS): number {
  return limit <= SHORT_LIST ? 0 : Math.min(limit, MAX_ROWS) * COST.listedRow;
}

/**
 * Returns the estimated number of milliseconds for which a very large body blocks the event loop; 0 for other bodies.
 */
export function blockOf(bytes: number): number {
  return bytes <= VERY_LARGE_BYTES ? 0 : bytes * BLOCK_MS_PER_BYTE;
}

/** Returns the cost of a body by its size; 0 for a small body. */
export function heavyBytes(bytes: number): number {
  return bytes <= LARGE_BYTES ? 0 : costOfBytes(bytes);
}

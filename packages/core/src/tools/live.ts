/** The loop behind every live iterator: read what is there, then wait for more, until aborted or closed. */

import type { CallOptions } from '../contracts/common.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from './context.ts';

/** How long a waiter trusts hints before it looks by itself: a missed hint costs this much latency, never an item. */
const LOOK_AGAIN_MS = 500;

/** How to look for something new, and how to hear of it. */
export interface Looking<T> {
  /** Milliseconds of `Date.now()`: then what was read last is given, empty as it is. */
  until: number;
  /** Reads with these options: a read under way ends with the caller's signal, also when the store is closed. */
  read: (reading: CallOptions) => Promise<T>;
  isEmpty: (page: T) => boolean;
  wait: (call: EngineCall) => Promise<void>;
}

/** Reads; while there is nothing, waits for a hint and reads again, until a time, an abort or the end of the store. */
export async function readOrWait<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  { until, read, isEmpty, wait }: Looking<T>,
): Promise<T> {
  const signal = liveSignal(context, options);
  for (;;) {
    // Registered before the read, so that what is stored between read and wait still wakes us.
    const cancel = new AbortController();
    const deadline = Math.min(until, Date.now() + LOOK_AGAIN_MS);
    const woken = wait({ signal: AbortSignal.any([signal, cancel.signal]), deadline });
    let isOver = true;
    try {
      const page = await read({ ...options, signal });
      isOver = !isEmpty(page) || signal.aborted || Date.now() >= until;
      if (isOver) return page;
    } finally {
      if (isOver) cancel.abort();
      await woken;
    }
  }
}

/**
 * Yields the items of page after page; when a page is empty it waits. Ends, without an error, when the caller's
 * signal aborts or the store is closed.
 */
export async function* follow<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  readPage: (reading: CallOptions) => Promise<readonly T[]>,
  wait: (call: EngineCall) => Promise<void>,
): AsyncGenerator<T, void, undefined> {
  context.startCall(options);
  const signal = liveSignal(context, options);
  const looking: Looking<readonly T[]> = {
    until: Number.POSITIVE_INFINITY,
    read: readPage,
    isEmpty: (items) => items.length === 0,
    wait,
  };
  while (!signal.aborted) {
    let items: readonly T[];
    try {
      items = await readOrWait(context, options, looking);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    for (const item of items) {
      if (signal.aborted) return;
      yield item;
    }
  }
}

function liveSignal(context: StoreContext, options: CallOptions | undefined): AbortSignal {
  return options?.signal ? AbortSignal.any([options.signal, context.closed]) : context.closed;
}

/** The loop behind every live iterator: read a page, wait for more, until aborted or closed. */

import type { CallOptions } from '../contracts/common.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from './context.ts';

/** How long to wait for a hint before reading again. A missed hint only adds this much latency. */
const LOOK_AGAIN_MS = 500;

/** How to read new items, and how to wait for them. */
export interface Looking<T> {
  /** Milliseconds of `Date.now()`. After it, the last page is returned even if empty. */
  until: number;
  /** Reads a page. The signal in `reading` aborts when the caller's signal does or the store closes. */
  read: (reading: CallOptions) => Promise<T>;
  isEmpty: (page: T) => boolean;
  wait: (call: EngineCall) => Promise<void>;
}

/**
 * Reads a page. While it is empty, waits for a hint and reads again, until `until`, an abort or the store's closing.
 */
export async function readOrWait<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  { until, read, isEmpty, wait }: Looking<T>,
): Promise<T> {
  const signal = liveSignal(context, options);
  for (;;) {
    // Wait before the read, so that an item stored between read and wait still wakes this loop.
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
 * Yields the items of each page and waits when a page is empty. Ends without an error when the caller's signal aborts
 * or the store closes.
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

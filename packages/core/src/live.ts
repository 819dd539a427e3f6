/** The loop behind every live iterator: read what is there, then wait for more, until aborted or closed. */
import type { StoreContext } from './context.ts';
import type { CallOptions } from './contracts/common.ts';
import type { EngineCall } from './engine/runs.ts';

/** How long a waiter trusts hints before it looks by itself: a missed hint costs this much latency, never an item. */
const LOOK_AGAIN_MS = 500;

/**
 * Yields the items of page after page; when a page is empty it waits. Ends, without an error, when the caller's
 * signal aborts or the store is closed.
 */
export async function* follow<T>(
  context: StoreContext,
  options: CallOptions | undefined,
  /** Reads with these options: a read under way ends with the iterator, also when the store is closed. */
  readPage: (reading: CallOptions) => Promise<readonly T[]>,
  wait: (call: EngineCall) => Promise<void>,
): AsyncGenerator<T, void, undefined> {
  context.startCall(options);
  const signal = options?.signal ? AbortSignal.any([options.signal, context.closed]) : context.closed;
  while (!signal.aborted) {
    // Registered before the read, so that what is stored between read and wait still wakes us.
    const cancel = new AbortController();
    const woken = wait({ signal: AbortSignal.any([signal, cancel.signal]), deadline: Date.now() + LOOK_AGAIN_MS });
    let items: readonly T[];
    try {
      items = await readPage({ ...options, signal });
    } catch (error) {
      cancel.abort();
      await woken;
      if (signal.aborted) return;
      throw error;
    }
    if (items.length === 0) {
      await woken;
      continue;
    }
    cancel.abort();
    await woken;
    for (const item of items) {
      if (signal.aborted) return;
      yield item;
    }
  }
}

/** Retries of idempotent calls (GEN-8). */

import { isTidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;
const NEVER = new AbortController().signal;

/** Retries a call while it fails with a transient error, up to `tries` times or until the signal aborts. */
export async function retry<T>(tries: number, call: () => Promise<T>, signal: AbortSignal = NEVER): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const mayPass = isTidemarkError(error) && error.retryable;
      if (!mayPass || attempt >= tries || signal.aborted) throw error;
    }
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS);
    await sleep(longest * (0.5 + Math.random()), signal);
  }
}

/** Helpers for the actors in a race. */
import { type ErrorCode, isTidemarkError } from '@tidemark/core';

/** Repeats a task until the signal aborts. */
export async function until(signal: AbortSignal, task: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) await task();
}

/** Returns a rejection handler that ignores errors with these codes and rethrows all others. */
export function ignoring(...codes: ErrorCode[]): (error: unknown) => null {
  return (error) => {
    if (isTidemarkError(error, ...codes)) return null;
    throw error;
  };
}

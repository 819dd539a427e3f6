/** `--follow`: resumes after a lost connection. When interrupted, prints the cursor from which to resume. */

import { isTidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { Output, View } from './output.ts';

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 10_000;

export interface Followed<T> {
  /**
   * Yields rows after a cursor, then new rows as they arrive. Without a cursor, begins at the command's starting point.
   */
  from: (cursor: string | undefined, signal: AbortSignal) => AsyncIterable<T>;
  cursorOf: (row: T) => string | undefined;
  /** Selects the rows to show. All other rows only advance the cursor. */
  isShown?: (row: T) => boolean;
  view: View<T>;
  /** The flag that resumes after a cursor; absent if the stream cannot be resumed. */
  resumeWith?: string;
}

export async function follow<T>({ io, out }: { io: Io; out: Output }, followed: Followed<T>): Promise<ExitCode> {
  const position: { cursor?: string } = {};
  await out.follow(followRows(io.signal, out, followed, position), followed.view);
  if (position.cursor !== undefined && followed.resumeWith)
    await out.note(`Stopped after ${position.cursor}; continue with ${followed.resumeWith} ${position.cursor}`);
  return EXIT.interrupted;
}

async function* followRows<T>(
  signal: AbortSignal,
  out: Output,
  { from, cursorOf, isShown }: Followed<T>,
  position: { cursor?: string },
): AsyncGenerator<T, void, undefined> {
  let retryMs = FIRST_RETRY_MS;
  while (!signal.aborted) {
    try {
      for await (const row of from(position.cursor, signal)) {
        retryMs = FIRST_RETRY_MS;
        if (!isShown || isShown(row)) yield row;
        // The cursor advances only after the row was shown.
        position.cursor = cursorOf(row) ?? position.cursor;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isTidemarkError(error) || !error.retryable) throw error;
      await out.note(`${error.message}; retrying`);
    }
    await sleep(retryMs, signal);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  }
}

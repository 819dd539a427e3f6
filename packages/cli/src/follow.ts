/** `--follow`: goes on after lost connections from where it was, and says where that is when it is interrupted. */

import { isTidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { EXIT, type ExitCode } from './exit-codes.ts';
import type { Io } from './io.ts';
import type { Output, View } from './output.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;

export interface Followed<T> {
  /** What comes after a cursor, and what is still to come; absent: from where the command was told to begin. */
  from: (cursor: string | undefined, signal: AbortSignal) => AsyncIterable<T>;
  cursorOf: (row: T) => string | undefined;
  /** Which rows are shown; the others only move the cursor. */
  isShown?: (row: T) => boolean;
  view: View<T>;
  /** The flag that goes on after a cursor; absent where a stream cannot be resumed. */
  resumeWith?: string;
}

export async function follow<T>({ io, out }: { io: Io; out: Output }, followed: Followed<T>): Promise<ExitCode> {
  const place: { cursor?: string } = {};
  await out.follow(rowsOf(io.signal, out, followed, place), followed.view);
  if (place.cursor !== undefined && followed.resumeWith)
    await out.note(`Stopped after ${place.cursor}; go on with ${followed.resumeWith} ${place.cursor}`);
  return EXIT.interrupted;
}

async function* rowsOf<T>(
  signal: AbortSignal,
  out: Output,
  { from, cursorOf, isShown }: Followed<T>,
  place: { cursor?: string },
): AsyncGenerator<T, void, undefined> {
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      for await (const row of from(place.cursor, signal)) {
        pause = FIRST_PAUSE_MS;
        if (!isShown || isShown(row)) yield row;
        // Only what was shown is behind us.
        place.cursor = cursorOf(row) ?? place.cursor;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isTidemarkError(error) || !error.retryable) throw error;
      await out.note(`${error.message}; trying again`);
    }
    await sleep(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

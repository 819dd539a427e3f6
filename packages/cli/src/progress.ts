/** Progress of long operations: a bar on a terminal after 300 ms, otherwise a line every ten seconds. */
import type { Io } from './io.ts';

const SHOWN_AFTER_MS = 300;
const REDRAWN_EVERY_MS = 100;
const LINE_EVERY_MS = 10_000;
const BAR_WIDTH = 24;

export interface Progress {
  /** Reports the amount done, and the total if known. */
  to(done: number, total?: number): void;
  /** Clears the bar. */
  end(): void;
}

export function startProgress(io: Io, label: string, clock: () => number = () => performance.now()): Progress {
  const { stderr } = io;
  const began = clock();
  let shownAt = began + SHOWN_AFTER_MS - REDRAWN_EVERY_MS;
  let isDrawn = false;
  if (!stderr.isTerminal) shownAt = began;
  const every = stderr.isTerminal ? REDRAWN_EVERY_MS : LINE_EVERY_MS;
  return {
    to(done, total) {
      if (clock() - shownAt < every) return;
      shownAt = clock();
      if (!stderr.isTerminal) return void stderr.write(`${label}: ${countText(done, total)}\n`);
      isDrawn = true;
      void stderr.write(`\r\u001b[K${label} ${total ? `${bar(done / total)} ` : ''}${countText(done, total)}`);
    },
    end() {
      if (isDrawn) void stderr.write('\r\u001b[K');
      isDrawn = false;
    },
  };
}

function countText(done: number, total: number | undefined): string {
  return total === undefined ? `${done}` : `${done} of ${total}`;
}

function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'·'.repeat(BAR_WIDTH - filled)}]`;
}

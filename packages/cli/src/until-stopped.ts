/** Waits for Ctrl-C, or until a given time has passed. */
import { sleep } from '@tidemark/core/engine';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export async function untilStopped(signal: AbortSignal, ms: number | undefined): Promise<void> {
  await sleep(Math.min(ms ?? LONGEST_TIMER_MS, LONGEST_TIMER_MS), signal);
}

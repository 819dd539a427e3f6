/** Waits for Ctrl-C, or until a given time has passed. */
import { sleep } from '@tidemark/core/engine';

const MAX_TIMER_MS = 2 ** 31 - 1;

export async function untilStopped(signal: AbortSignal, ms: number | undefined): Promise<void> {
  await sleep(Math.min(ms ?? MAX_TIMER_MS, MAX_TIMER_MS), signal);
}

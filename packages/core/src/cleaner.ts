/** Removes what has expired, a little at a time, so that no writer waits long. */
import type { EngineCall } from './engine/runs.ts';

/** Removes at most `limit` things and tells how many there were. */
export type CleaningStep = (call: EngineCall, limit: number) => Promise<number>;

const EVERY_MS = 5_000;
const STEP = 200;
const STEP_LIMIT_MS = 5_000;

export class Cleaner {
  readonly #steps: readonly CleaningStep[];
  readonly #timer: NodeJS.Timeout;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(steps: readonly CleaningStep[]) {
    this.#steps = steps;
    this.#timer = setInterval(() => {
      this.#round ??= this.#clean().finally(() => {
        this.#round = null;
      });
    }, EVERY_MS).unref();
  }

  /** No further step begins; the one under way is waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  async #clean(): Promise<void> {
    for (const step of this.#steps) {
      try {
        while (!this.#stopped && (await step({ deadline: Date.now() + STEP_LIMIT_MS }, STEP)) === STEP);
      } catch {
        // What could not be removed now is invisible already; the next round tries again.
      }
    }
  }
}

/** Removes what has expired, a little at a time, so that no writer waits long. */
import type { ArtifactEngine } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';

/** Removes at most `limit` things and tells how many there were. */
export type CleaningStep = (call: EngineCall, limit: number) => Promise<number>;

const EVERY_MS = 5_000;
const STEP = 200;
const STEP_LIMIT_MS = 5_000;
const SWEEP_EVERY_MS = 900_000;
const SWEEP_LIMIT_MS = 60_000;
/** Bytes that no reference names yet may belong to one that is about to be written. */
const SWEEP_GRACE_MS = 3_600_000;

/** A step that is due only once in a while, because it is costly to look for what it removes. */
export function onceInAWhile(everyMs: number, firstAfterMs: number, step: CleaningStep): CleaningStep {
  let dueAt = Date.now() + firstAfterMs;
  return async (call, limit) => {
    if (Date.now() < dueAt) return 0;
    dueAt = Date.now() + everyMs;
    return step(call, limit);
  };
}

/** A step that goes through everything, every quarter of an hour; processes take turns by chance. */
export function sweeping(sweep: (call: EngineCall) => Promise<unknown>): CleaningStep {
  return onceInAWhile(SWEEP_EVERY_MS, SWEEP_EVERY_MS * Math.random(), async (call) => {
    await sweep({ ...call, deadline: Date.now() + SWEEP_LIMIT_MS });
    return 0;
  });
}

/** Removes references that have expired and bytes that no reference names. */
export function artifactSweep(artifacts: Pick<ArtifactEngine, 'sweep'>, clock: () => number): CleaningStep {
  return sweeping((call) => artifacts.sweep(null, clock(), SWEEP_GRACE_MS, call));
}

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

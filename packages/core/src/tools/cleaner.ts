/** Removes expired data in small steps, so that writers never wait long. */
import type { ArtifactEngine } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';

/** Removes at most `limit` items and returns how many it removed. */
export type CleaningStep = (call: EngineCall, limit: number) => Promise<number>;

const EVERY_MS = 5_000;
const STEP = 200;
const STEP_LIMIT_MS = 5_000;
const SWEEP_EVERY_MS = 900_000;
const SWEEP_LIMIT_MS = 60_000;
/** Unreferenced bytes are kept for this long, because a reference to them may be about to be written. */
const SWEEP_GRACE_MS = 3_600_000;

/** Limits a step to one run per `everyMs`, because finding its items is costly. */
export function onceInAWhile(everyMs: number, firstAfterMs: number, step: CleaningStep): CleaningStep {
  let dueAt = Date.now() + firstAfterMs;
  return async (call, limit) => {
    if (Date.now() < dueAt) return 0;
    dueAt = Date.now() + everyMs;
    return step(call, limit);
  };
}

/** Wraps a full pass as a step every 15 minutes. The random first delay spreads the passes of several processes. */
export function sweeping(sweep: (call: EngineCall) => Promise<unknown>): CleaningStep {
  return onceInAWhile(SWEEP_EVERY_MS, SWEEP_EVERY_MS * Math.random(), async (call) => {
    await sweep({ ...call, deadline: Date.now() + SWEEP_LIMIT_MS });
    return 0;
  });
}

/** Removes expired references, and unreferenced bytes. */
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

  /** Starts no further step and waits for the current one. */
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
        // Items that could not be removed are already invisible; the next round retries.
      }
    }
  }
}

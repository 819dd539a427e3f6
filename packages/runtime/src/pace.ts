/** Limits background work to a fraction of the time, so that writers keep most of the engine's capacity. */
import { sleep } from '@tidemark/core/engine';

/** The longest rest, even after a very long batch. */
const MAX_REST_MS = 10_000;

export class Pace {
  readonly #restPerWork: number;
  readonly #signal: AbortSignal;
  #since = performance.now();

  /** `share` is the fraction of time spent working: 0.25 means resting three times as long as the work took. */
  constructor(share: number, signal: AbortSignal) {
    this.#restPerWork = 1 / share - 1;
    this.#signal = signal;
  }

  /** Sleeps in proportion to the time since the last rest. */
  async rest(): Promise<void> {
    const restMs = Math.min((performance.now() - this.#since) * this.#restPerWork, MAX_REST_MS);
    if (restMs > 0) await sleep(restMs, this.#signal);
    this.#since = performance.now();
  }
}

/** Keeps work in the background to a share of the time, so that writers keep most of what the engine can do. */
import { sleep } from '@tidemark/core/engine';

/** However long a batch took, there is no point in waiting longer than this. */
const LONGEST_REST_MS = 10_000;

export class Pace {
  readonly #restPerWork: number;
  readonly #signal: AbortSignal;
  #since = performance.now();

  /** `share` of the time is for work: 0.25 means a rest of three times what the work took. */
  constructor(share: number, signal: AbortSignal) {
    this.#restPerWork = 1 / share - 1;
    this.#signal = signal;
  }

  /** Rests in proportion to the time since the last rest. */
  async rest(): Promise<void> {
    const restMs = Math.min((performance.now() - this.#since) * this.#restPerWork, LONGEST_REST_MS);
    if (restMs > 0) await sleep(restMs, this.#signal);
    this.#since = performance.now();
  }
}

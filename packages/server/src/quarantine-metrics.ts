/** The number of quarantined runs in `/metrics`. */
import type { Store } from '@tidemark/core';
import type { Metrics } from './metrics.ts';

const LOOK_EVERY_MS = 5_000;
const MAX_COUNTED = 1_000;

export class QuarantineMetrics {
  readonly #store: Store;
  #open = 0;
  #lookedAt = 0;

  constructor(store: Store, metrics: Metrics) {
    this.#store = store;
    metrics.addGauge('tidemark_quarantined_runs', {
      help: 'Runs that are quarantined because damage was found in them, up to 1000; counted at most every 5 s.',
      value: () => this.#count(),
    });
  }

  /** Makes the next page count again. Called when this process has found damage. */
  expectMore(): void {
    this.#lookedAt = 0;
  }

  /** Returns the last count rather than a new one, so that the page never waits for a slow store. */
  #count(): number {
    if (Date.now() - this.#lookedAt > LOOK_EVERY_MS) void this.look();
    return this.#open;
  }

  async look(): Promise<void> {
    this.#lookedAt = Date.now();
    if (!this.#store.info.capabilities.runs) return;
    try {
      this.#open = (await this.#store.runs.listQuarantined({ limit: MAX_COUNTED })).items.length;
    } catch {
      // Makes the next page count again.
      this.#lookedAt = 0;
    }
  }
}

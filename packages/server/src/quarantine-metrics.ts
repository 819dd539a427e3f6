/** What `/metrics` shows of quarantined runs: how many there are, and how many this process has found. */
import type { Store, StoreAlert } from '@tidemark/core';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

const LOOK_EVERY_MS = 5_000;
const MOST_COUNTED = 1_000;

export class QuarantineMetrics {
  readonly #store: Store;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  #open = 0;
  #lookedAt = 0;

  constructor(store: Store, metrics: Metrics, logger: Logger) {
    this.#store = store;
    this.#metrics = metrics;
    this.#logger = logger;
    metrics.addGauge('tidemark_quarantined_runs', {
      help: 'Runs that are quarantined because damage was found in them, at most 1000; looked for every 5 s at most.',
      value: () => this.#count(),
    });
  }

  /** Logs an alert of the store as one line and counts it. */
  alert(alert: StoreAlert): void {
    this.#metrics.count('quarantines', { code: alert.code });
    this.#lookedAt = 0;
    this.#logger.error({ event: 'store_alert', ...alert });
  }

  /** The last count; the page does not wait for a store that is slow. */
  #count(): number {
    if (Date.now() - this.#lookedAt > LOOK_EVERY_MS) void this.look();
    return this.#open;
  }

  async look(): Promise<void> {
    this.#lookedAt = Date.now();
    if (!this.#store.info.capabilities.runs) return;
    try {
      this.#open = (await this.#store.runs.listQuarantined({ limit: MOST_COUNTED })).items.length;
    } catch {
      // The next page looks again.
      this.#lookedAt = 0;
    }
  }
}

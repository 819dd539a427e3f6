/** Handles alerts of the store and the loops. Each alert is logged as one line and counted in the metrics. */
import type { StoreAlert } from '@tidemark/core';
import type { ProjectorAlert } from '@tidemark/runtime';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

export class Alerts {
  readonly #logger: Logger;
  readonly #metrics: Metrics;

  constructor(logger: Logger, metrics: Metrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  note(alert: StoreAlert | ProjectorAlert): void {
    this.#metrics.count('alerts', { code: alert.code });
    const line = { event: 'alert', ...alert };
    if (alert.severity === 'P3') this.#logger.info(line);
    else this.#logger.error(line);
  }
}

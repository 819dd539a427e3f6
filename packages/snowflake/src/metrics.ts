/** Counters of a sink, for its status and as metrics. */
import type { Counter, Histogram, Meter } from '@tidemark/core';

export class SinkMetrics {
  events = 0;
  readonly #attributes: { sink: string };
  readonly #lag: Histogram | undefined;
  readonly #events: Counter | undefined;
  readonly #errors: Counter | undefined;

  constructor(name: string, meter: Meter | undefined) {
    this.#attributes = { sink: name };
    this.#lag = meter?.createHistogram('tidemark.sink.lag', {
      description: 'How long the first event of a page waited between being stored and being in Snowflake',
      unit: 'ms',
    });
    this.#events = meter?.createCounter('tidemark.sink.events', { description: 'Events stored in Snowflake' });
    this.#errors = meter?.createCounter('tidemark.sink.errors', { description: 'Pages and purges that failed' });
  }

  /** `oldest` is when the first of the events was stored, in epoch milliseconds. */
  loaded(events: number, oldest: number): void {
    this.events += events;
    this.#events?.add(events, this.#attributes);
    this.#lag?.record(Math.max(0, Date.now() - oldest), this.#attributes);
  }

  failed(): void {
    this.#errors?.add(1, this.#attributes);
  }
}

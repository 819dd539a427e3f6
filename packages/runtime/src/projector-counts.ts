/** Counters of the projector, for its status and as metrics. */
import type { Counter, Histogram, Meter } from '@tidemark/core';

export interface ProjectorCounts {
  /** The number of events folded, and of refreshes that wrote a snapshot. */
  folded: number;
  refreshed: number;
  /** The number of runs in which events were missing when later events arrived. */
  holes: number;
  /** The number of snapshots that were marked `STALE` and then folded up to the last event. */
  resyncs: number;
  /** The number of invalid events, including events that snapshots do not list. */
  invalidEvents: number;
}

const COUNTERS = {
  folded: ['tidemark.projector.folded', 'Events folded into snapshots'],
  refreshed: ['tidemark.projector.refreshed', 'Refreshes that wrote a snapshot'],
  holes: ['tidemark.projector.holes', 'Runs of which events were missing when later ones came'],
  resyncs: ['tidemark.projector.resyncs', 'Snapshots that were marked stale and folded again'],
  invalidEvents: ['tidemark.projector.invalid_events', 'Events that their runs did not allow'],
} as const satisfies Record<keyof ProjectorCounts, readonly [string, string]>;

export class ProjectorMetrics {
  readonly counts: ProjectorCounts = { folded: 0, refreshed: 0, holes: 0, resyncs: 0, invalidEvents: 0 };
  readonly #attributes: { projector: string };
  readonly #lag: Histogram | undefined;
  readonly #counters = new Map<keyof ProjectorCounts, Counter>();

  constructor(name: string, meter: Meter | undefined) {
    this.#attributes = { projector: name };
    this.#lag = meter?.createHistogram('tidemark.projector.lag', {
      description: 'How long the first event of a page waited between being stored and being in its snapshot',
      unit: 'ms',
    });
    if (!meter) return;
    for (const [count, [metric, description]] of Object.entries(COUNTERS))
      this.#counters.set(count as keyof ProjectorCounts, meter.createCounter(metric, { description }));
  }

  add(count: keyof ProjectorCounts, value: number): void {
    if (value === 0) return;
    this.counts[count] += value;
    this.#counters.get(count)?.add(value, this.#attributes);
  }

  lag(ms: number): void {
    this.#lag?.record(ms, this.#attributes);
  }
}

/** Metrics of sweeps: duration, outcomes of overdue jobs, errors. */
import type { Counter, Histogram, Meter } from '@tidemark/core';
import type { SweepReport } from './sweep-report.ts';

const OUTCOMES = ['requeued', 'failed', 'released', 'signalled', 'missed'] as const;

export class SweepMetrics {
  readonly #duration: Histogram;
  readonly #jobs: Counter;
  readonly #errors: Counter;

  constructor(meter: Meter) {
    this.#duration = meter.createHistogram('tidemark.sweep.duration', {
      description: 'How long sweeps took',
      unit: 'ms',
    });
    this.#jobs = meter.createCounter('tidemark.sweep.jobs', {
      description: 'Overdue jobs, by type and outcome',
    });
    this.#errors = meter.createCounter('tidemark.sweep.errors', { description: 'Calls and signals that failed' });
  }

  swept({ durationMs, types, problems }: SweepReport): void {
    this.#duration.record(durationMs);
    for (const [type, counts] of Object.entries(types))
      for (const outcome of OUTCOMES) if (counts[outcome] > 0) this.#jobs.add(counts[outcome], { type, outcome });
    if (problems.length > 0) this.#errors.add(problems.length);
  }
}

/** The report of a sweep, by task type. */
import type { OverdueJob, RecoveredJob } from '@tidemark/core';

/** Counts of one task type. */
export interface SweepCounts extends Record<RecoveredJob['outcome'], number> {
  /** Overdue jobs found. Each has one of the outcomes, or an error. */
  seen: number;
  /** Signals published, including signals that earlier sweeps could not publish. */
  published: number;
  /** Calls and signals that failed; the next sweep retries them. */
  errors: number;
}

/** Counts of a sweep. */
export interface SweepReport {
  startedAt: number;
  durationMs: number;
  /** Counts by task type. */
  types: Record<string, SweepCounts>;
  /** Errors with their task type, which is `null` for an error that does not concern a single type. */
  problems: { taskType: string | null; error: unknown }[];
  /** In a dry run: the jobs that would have been recovered. */
  found?: OverdueJob[];
}

export function emptyCounts(): SweepCounts {
  return { seen: 0, requeued: 0, failed: 0, released: 0, signalled: 0, missed: 0, published: 0, errors: 0 };
}

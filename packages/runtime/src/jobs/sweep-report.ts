/** What a sweep has seen and done, type by type. */
import type { OverdueJob, RecoveredJob } from '@tidemark/core';

/** Counts of one task type. */
export interface SweepCounts extends Record<RecoveredJob['outcome'], number> {
  /** Overdue jobs that were found; each had one of the outcomes, or an error. */
  seen: number;
  /** Signals that were sent, those of earlier sweeps included. */
  published: number;
  /** Calls and signals that failed; the next sweep tries again. */
  errors: number;
}

export interface SweepReport {
  startedAt: number;
  durationMs: number;
  /** Counts by task type. */
  types: Record<string, SweepCounts>;
  /** What went wrong, with the type it was about; `null` when it was about none. */
  problems: { taskType: string | null; error: unknown }[];
  /** In a dry run: what would have been done something about. */
  found?: OverdueJob[];
}

export function emptyCounts(): SweepCounts {
  return { seen: 0, requeued: 0, failed: 0, released: 0, signalled: 0, missed: 0, published: 0, errors: 0 };
}

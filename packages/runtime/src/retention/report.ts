/** The report of a retention pass, by policy. */
import type { RetentionPolicies } from './policies.ts';

/** Counts of one retention policy. */
export interface RetentionCounts {
  /** The kind of data that the policy applies to. */
  kind: keyof RetentionPolicies;
  /** Items old enough to remove. */
  found: number;
  deleted: number;
  archived: number;
  /**
   * Items that were not removed because they changed in the meantime, or because another process removed them first.
   */
  spared: number;
  /** Removals that failed; the next pass retries them. */
  failed: number;
  /** Events of the runs found. */
  events: number;
  /** In a dry run: total size of the items found, runs and documents as JSON text. */
  bytes: number;
}

/** Counts of a retention pass. */
export interface RetentionReport {
  startedAt: number;
  durationMs: number;
  dryRun: boolean;
  /** Whether the pass examined all data. False if it was stopped earlier. */
  finished: boolean;
  /** Counts by policy name, in order. */
  policies: Record<string, RetentionCounts>;
  /** Errors, at most the first 100. */
  problems: { policy: string; id: string | null; error: unknown }[];
}

const MAX_PROBLEMS = 100;

export function emptyCounts(kind: keyof RetentionPolicies): RetentionCounts {
  return { kind, found: 0, deleted: 0, archived: 0, spared: 0, failed: 0, events: 0, bytes: 0 };
}

export function noteProblem(report: RetentionReport, policy: string, id: string | null, error: unknown): void {
  report.policies[policy]!.failed++;
  if (report.problems.length < MAX_PROBLEMS) report.problems.push({ policy, id, error });
}

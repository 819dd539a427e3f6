/** The report of a retention pass, by policy. */
import type { RetentionPolicies } from './policies.ts';

export interface RetentionCounts {
  /** Kind of data of the policy. */
  kind: keyof RetentionPolicies;
  /** Items old enough to remove. */
  found: number;
  deleted: number;
  archived: number;
  /** Items that changed meanwhile, or that another process removed first. */
  spared: number;
  /** Removals that failed; the next pass retries them. */
  failed: number;
  /** Events of the runs found. */
  events: number;
  /** In a dry run: total size of the items found, runs and documents as JSON text. */
  bytes: number;
}

export interface RetentionReport {
  startedAt: number;
  durationMs: number;
  dryRun: boolean;
  /** Whether the pass looked at everything before it was stopped. */
  finished: boolean;
  /** Counts by policy name, in order. */
  policies: Record<string, RetentionCounts>;
  /** Errors, at most the first 100. */
  problems: { policy: string; id: string | null; error: unknown }[];
}

const MOST_PROBLEMS = 100;

export function emptyCounts(kind: keyof RetentionPolicies): RetentionCounts {
  return { kind, found: 0, deleted: 0, archived: 0, spared: 0, failed: 0, events: 0, bytes: 0 };
}

export function noteProblem(report: RetentionReport, policy: string, id: string | null, error: unknown): void {
  report.policies[policy]!.failed++;
  if (report.problems.length < MOST_PROBLEMS) report.problems.push({ policy, id, error });
}

/** What a retention pass has seen and done, policy by policy. */
import type { RetentionPolicies } from './policies.ts';

export interface RetentionCounts {
  /** Which kind of thing the policy is about. */
  kind: keyof RetentionPolicies;
  /** Things whose time has come. */
  found: number;
  deleted: number;
  archived: number;
  /** Things that changed while they were looked at, or that somebody else removed first. */
  spared: number;
  /** Removals that failed; the next pass tries again. */
  failed: number;
  /** Events of the runs that were found. */
  events: number;
  /** In a dry run: the size of what was found, runs and documents as JSON text. */
  bytes: number;
}

export interface RetentionReport {
  startedAt: number;
  durationMs: number;
  dryRun: boolean;
  /** False when the pass was stopped before it had looked at everything. */
  finished: boolean;
  /** Counts by the name of the policy, in order. */
  policies: Record<string, RetentionCounts>;
  /** What went wrong, at most the first 100. */
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

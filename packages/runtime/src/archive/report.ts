/** What the archiver tells of its work. */

/** A run that was left in the store, and why. */
export interface SparedRun {
  tenantId: string;
  runId: string;
  reason: string;
}

export interface ArchiveReport {
  dryRun: boolean;
  /** Runs that lie in the archive and no longer in the store; in a dry run those that would. */
  runs: number;
  events: number;
  /** Of the files written; 0 in a dry run. */
  bytes: number;
  /** The first hundred runs that were left alone. */
  spared: SparedRun[];
}

/** What `verify` found. */
export interface ArchiveCheck {
  ok: boolean;
  packs: number;
  runs: number;
  events: number;
  bytes: number;
  /** The first hundred things that are wrong. */
  problems: string[];
  /** Packs that no manifest names: left by archivers that were killed, and safe to delete. */
  strays: string[];
}

const MOST_NAMED = 100;

export function emptyReport(dryRun: boolean): ArchiveReport {
  return { dryRun, runs: 0, events: 0, bytes: 0, spared: [] };
}

export function noteSpared(report: ArchiveReport, spared: SparedRun): void {
  if (report.spared.length < MOST_NAMED) report.spared.push(spared);
}

export function noteProblems(check: ArchiveCheck, problems: readonly string[]): void {
  if (problems.length > 0) check.ok = false;
  check.problems.push(...problems.slice(0, MOST_NAMED - check.problems.length));
}

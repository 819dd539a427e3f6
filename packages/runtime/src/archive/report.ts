/** Reports of the archiver. */

/** A run that stayed in the store, and the reason. */
export interface SparedRun {
  tenantId: string;
  runId: string;
  reason: string;
}

/** Counts of an archive call. */
export interface ArchiveReport {
  dryRun: boolean;
  /** Runs moved from the store to the archive; in a dry run, runs that would be moved. */
  runs: number;
  events: number;
  /** Size of the files written; 0 in a dry run. */
  bytes: number;
  /** The first hundred runs that stayed in the store. */
  spared: SparedRun[];
}

/** Result of `verify`. */
export interface ArchiveCheck {
  ok: boolean;
  packs: number;
  runs: number;
  events: number;
  bytes: number;
  /** The first hundred problems. */
  problems: string[];
  /** Packs without a manifest, left behind by archivers that crashed. They are safe to delete. */
  strays: string[];
}

const MAX_NAMED = 100;

export function emptyReport(dryRun: boolean): ArchiveReport {
  return { dryRun, runs: 0, events: 0, bytes: 0, spared: [] };
}

export function noteSpared(report: ArchiveReport, spared: SparedRun): void {
  if (report.spared.length < MAX_NAMED) report.spared.push(spared);
}

export function noteProblems(check: ArchiveCheck, problems: readonly string[]): void {
  if (problems.length > 0) check.ok = false;
  check.problems.push(...problems.slice(0, MAX_NAMED - check.problems.length));
}

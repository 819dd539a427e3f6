/** The report of a copy: items copied, items already identical, and remaining differences. */
import type { TenantPart } from '@tidemark/core';
import type { Difference } from './unit.ts';

/** Counts of one part of a copy. */
export interface CopyCounts {
  copied: number;
  /** Items that were already identical in the target. */
  same: number;
  /** Items removed from the target because they were erased or deleted in the source, or because of `mirror`. */
  removed: number;
  /** Items that differ in the final comparison, or that exist only in the target. */
  differing: number;
}

/** Progress or result of `copyStore`. */
export interface CopyReport {
  phase: 'copying' | 'verifying';
  durationMs: number;
  /**
   * Counts by part. Each run, record, document and artifact counts as one. Each entry of a list counts as one, not the
   * list.
   */
  parts: Partial<Record<TenantPart, CopyCounts>>;
  /** The first 1 000 differences. */
  differences: { part: TenantPart; tenantId: string; id: string; reason: string }[];
  /** The first 100 items that could not be copied or compared. */
  problems: { part: TenantPart; tenantId: string; id: string; error: unknown }[];
  /** Whether both stores were compared completely and are equal. */
  complete: boolean;
}

const MAX_DIFFERENCES = 1_000;
const MAX_PROBLEMS = 100;

export class CopyReportBuilder {
  readonly report: CopyReport = {
    phase: 'copying',
    durationMs: 0,
    parts: {},
    differences: [],
    problems: [],
    complete: false,
  };
  #failed = false;
  readonly #began = performance.now();

  constructor(parts: readonly TenantPart[]) {
    for (const part of parts) this.report.parts[part] = { copied: 0, same: 0, removed: 0, differing: 0 };
  }

  count(part: TenantPart, { copied, same }: { copied: number; same: number }): void {
    const counts = this.report.parts[part]!;
    counts.copied += copied;
    counts.same += same;
  }

  countRemoved(part: TenantPart, count: number): void {
    this.report.parts[part]!.removed += count;
  }

  addDifference(part: TenantPart, tenantId: string, id: string, { count, reason }: Difference): void {
    const counts = this.report.parts[part];
    if (counts) counts.differing += count;
    this.#failed = true;
    if (this.report.differences.length < MAX_DIFFERENCES) this.report.differences.push({ part, tenantId, id, reason });
  }

  addProblem(part: TenantPart, tenantId: string, id: string, error: unknown): void {
    this.#failed = true;
    if (this.report.problems.length < MAX_PROBLEMS) this.report.problems.push({ part, tenantId, id, error });
  }

  /** Returns the counts so far. */
  progress(): CopyReport {
    this.report.durationMs = Math.round(performance.now() - this.#began);
    return { ...this.report, parts: structuredClone(this.report.parts) };
  }

  finish(finished: boolean): CopyReport {
    this.report.complete = finished && !this.#failed;
    return this.progress();
  }
}

/** The report of a copy: items written, items already the same, and remaining differences. */
import type { TenantPart } from '@tidemark/core';
import type { Difference } from './unit.ts';

/** Counts of one part of a copy. */
export interface CopyCounts {
  copied: number;
  /** Items that were already the same in the target. */
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
   * Counts by part. Runs, records, documents and artifacts are counted individually. Lists are counted by their items.
   */
  parts: Partial<Record<TenantPart, CopyCounts>>;
  /** At most the first 1 000 differences. */
  differences: { part: TenantPart; tenantId: string; id: string; reason: string }[];
  /** Items that could not be copied or compared, at most the first 100. */
  problems: { part: TenantPart; tenantId: string; id: string; error: unknown }[];
  /** Whether both stores were compared completely and are equal. */
  complete: boolean;
}

const MAX_DIFFERENCES = 1_000;
const MAX_PROBLEMS = 100;

export class CopyNotes {
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

  removed(part: TenantPart, count: number): void {
    this.report.parts[part]!.removed += count;
  }

  differs(part: TenantPart, tenantId: string, id: string, { count, reason }: Difference): void {
    const counts = this.report.parts[part];
    if (counts) counts.differing += count;
    this.#failed = true;
    if (this.report.differences.length < MAX_DIFFERENCES) this.report.differences.push({ part, tenantId, id, reason });
  }

  fails(part: TenantPart, tenantId: string, id: string, error: unknown): void {
    this.#failed = true;
    if (this.report.problems.length < MAX_PROBLEMS) this.report.problems.push({ part, tenantId, id, error });
  }

  /** Returns the counts so far. */
  progress(): CopyReport {
    this.report.durationMs = Math.round(performance.now() - this.#began);
    return { ...this.report, parts: structuredClone(this.report.parts) };
  }

  end(finished: boolean): CopyReport {
    this.report.complete = finished && !this.#failed;
    return this.progress();
  }
}

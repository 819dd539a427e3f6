/** What a copy has written, what was there already, and what is not the same in the end. */
import type { TenantPart } from '@tidemark/core';
import type { Difference } from './unit.ts';

export interface CopyCounts {
  copied: number;
  /** Found to be the same in the target already. */
  same: number;
  /** Removed from the target, because it was erased or deleted in the source, or with `mirror`. */
  removed: number;
  /** Not the same when both sides were compared at the end, and what only the target has. */
  differing: number;
}

export interface CopyReport {
  phase: 'copying' | 'verifying';
  durationMs: number;
  /** Counts by part. Runs, records, documents and artifacts count one by one, lists by their items. */
  parts: Partial<Record<TenantPart, CopyCounts>>;
  /** What differs and why, at most the first 1 000. */
  differences: { part: TenantPart; tenantId: string; id: string; reason: string }[];
  /** What could not be copied or compared, at most the first 100. */
  problems: { part: TenantPart; tenantId: string; id: string; error: unknown }[];
  /** True when both sides were compared and are equal; false also for a copy that was stopped. */
  complete: boolean;
}

const MOST_DIFFERENCES = 1_000;
const MOST_PROBLEMS = 100;

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
    if (this.report.differences.length < MOST_DIFFERENCES) this.report.differences.push({ part, tenantId, id, reason });
  }

  fails(part: TenantPart, tenantId: string, id: string, error: unknown): void {
    this.#failed = true;
    if (this.report.problems.length < MOST_PROBLEMS) this.report.problems.push({ part, tenantId, id, error });
  }

  /** The counts so far. */
  progress(): CopyReport {
    this.report.durationMs = Math.round(performance.now() - this.#began);
    return { ...this.report, parts: structuredClone(this.report.parts) };
  }

  end(finished: boolean): CopyReport {
    this.report.complete = finished && !this.#failed;
    return this.progress();
  }
}

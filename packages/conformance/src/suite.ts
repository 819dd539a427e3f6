/** Runs the cases against one store and reports which guarantees the store meets, breaks and does not offer. */
import type { Durability } from '@tidemark/core';
import { ALL_CASES } from './cases/index.ts';
import type { ConformanceCase, Domain, StoreFactory } from './kit.ts';
import { type CaseSelection, closesStore, selectCases } from './select.ts';
import { type BenchOptions, Workbench } from './workbench.ts';

/** The result of one case. */
export interface CaseResult {
  id: string;
  title: string;
  domain: Domain;
  proves: readonly string[];
  status: 'passed' | 'failed' | 'skipped';
  /** For a skipped case: the capabilities the store does not declare. */
  reason?: string;
  /** For a failed case: the guarantee that was broken. */
  error?: string;
  durationMs: number;
}

/** The result of a run of the kit, as plain JSON. */
export interface ConformanceReport {
  backend: string;
  version: string;
  contractVersion: string;
  durability: Durability;
  startedAt: string;
  durationMs: number;
  totals: { passed: number; failed: number; skipped: number };
  cases: CaseResult[];
}

export interface ConformanceOptions extends CaseSelection, BenchOptions {
  /** Called after each case. */
  onCase?: (result: CaseResult) => void;
  /** The number of concurrent cases, by default 1. Stores with an injected clock always run one at a time. */
  concurrency?: number;
  /** Cases to run instead of the kit's own cases, for example for your own guarantees. */
  cases?: readonly ConformanceCase[];
}

/**
 * Runs the conformance kit.
 *
 * @example
 * const report = await runConformance(() => createMyStore());
 * console.log(formatReport(report));
 */
export async function runConformance(
  factory: StoreFactory,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const startedAt = new Date();
  const workbench = new Workbench(factory, options);
  const { store, advance } = await workbench.open();
  const { backend, version, contractVersion, durability } = store.info;
  const chosen = selectCases(options.cases ?? ALL_CASES, options);
  const shared = chosen.filter((it) => !closesStore(it));
  const results = new Map<string, CaseResult>();
  const runOne = async (testCase: ConformanceCase) => {
    const result = await runCase(workbench, testCase);
    results.set(testCase.id, result);
    options.onCase?.(result);
  };
  try {
    // With a shared clock, cases run one at a time, because a case that moves the clock would expire the records of
    // others.
    await inParallel(shared, advance ? 1 : (options.concurrency ?? 1), runOne);
    for (const testCase of chosen.slice(shared.length)) await runOne(testCase);
  } finally {
    await workbench.close();
  }
  const cases = chosen.map((it) => results.get(it.id)!);
  const count = (status: CaseResult['status']) => cases.filter((it) => it.status === status).length;
  return {
    backend,
    version,
    contractVersion,
    durability,
    startedAt: startedAt.toISOString(),
    durationMs: Date.now() - startedAt.getTime(),
    totals: { passed: count('passed'), failed: count('failed'), skipped: count('skipped') },
    cases,
  };
}

async function runCase(workbench: Workbench, testCase: ConformanceCase): Promise<CaseResult> {
  const { id, title, domain, proves } = testCase;
  const began = performance.now();
  const result = (rest: Pick<CaseResult, 'status' | 'reason' | 'error'>): CaseResult => {
    return { id, title, domain, proves, ...rest, durationMs: Math.round(performance.now() - began) };
  };
  try {
    const missing = await workbench.missingFor(testCase);
    if (missing.length > 0)
      return result({ status: 'skipped', reason: `the store does not declare ${missing.join(', ')}` });
    await workbench.run(testCase);
    return result({ status: 'passed' });
  } catch (error) {
    return result({ status: 'failed', error: error instanceof Error ? error.message : String(error) });
  }
}

async function inParallel<T>(items: readonly T[], workers: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(1, workers) }, worker));
}

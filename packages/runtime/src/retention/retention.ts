/**
 * Retention removes data according to its policies, in small batches with a rest after each to leave capacity for
 * writers. A pass keeps no state: removed data is not found again, so the next pass finishes an interrupted one.
 */
import { type Duration, invalidArgument, type Store } from '@tidemark/core';
import { checkDuration, sleep } from '@tidemark/core/engine';
import { retry } from '../jobs/retry.ts';
import { Pace } from '../pace.ts';
import { checkAged, checkJobStates, checkRunPolicy } from './checks.ts';
import { artifactKeeper, jobKeeper, kvKeeper, memoryKeeper } from './documents.ts';
import type { Candidate, CheckedPolicy, Keeper } from './keeper.ts';
import type { RetentionPolicies } from './policies.ts';
import { emptyCounts, noteProblem, type RetentionReport } from './report.ts';
import { type RunArchiver, runKeeper } from './runs.ts';
import { sessionKeeper } from './sessions.ts';

/** Points at which tests simulate a crash. */
export type RetentionPoint = 'found' | 'removing' | 'removed' | 'batch';

/** Options of `createRetention`. */
export interface RetentionOptions {
  store: Store;
  policies: RetentionPolicies;
  /** Required if a policy archives. */
  archiver?: RunArchiver;
  /** The fraction of time spent working, 0.01 to 1. Default 0.25. */
  share?: number;
  /** Time between passes, varied by up to a fifth. Default 1 hour. */
  interval?: Duration;
  /** Called after every pass that the loop runs. */
  onReport?: (report: RetentionReport) => void;
  /** Returns epoch milliseconds; for tests. */
  clock?: () => number;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: RetentionPoint) => void;
}

/** Options of one retention pass. */
export interface PassOptions {
  /** Stops the pass after the removals in progress. */
  signal?: AbortSignal;
  /** Called with the counts so far after every batch. */
  onProgress?: (report: RetentionReport) => void;
  /** Finds and measures items without removing them. */
  dryRun?: boolean;
}

/** Removes old data by policy. `createRetention` returns one. */
export interface Retention {
  /** Reports what a pass would remove, with counts and bytes, and removes nothing. */
  plan(options?: Omit<PassOptions, 'dryRun'>): Promise<RetentionReport>;
  /** Runs one pass now. Errors of single items are in the report. */
  run(options?: PassOptions): Promise<RetentionReport>;
  /** Runs passes repeatedly until stopped. */
  start(): void;
  /** Starts no further passes. Resolves once the current pass has stopped. */
  stop(): Promise<void>;
}

const BATCH = 16;
const AT_ONCE = 4;
const TRIES = 3;

/**
 * Creates a retention loop for a store. Any number of processes may run it. Passes start after `start()`.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option or an ambiguous policy.
 *
 * @example
 * const runs: RunPolicy[] = [{ name: 'old', olderThan: '90d', action: 'delete' }];
 * const retention = createRetention({ store, policies: { runs } });
 * console.log((await retention.plan()).policies.old);
 * retention.start();
 * await retention.stop();
 */
export function createRetention(options: RetentionOptions): Retention {
  return new StoreRetention(options);
}

class StoreRetention implements Retention {
  readonly #keepers: readonly Keeper[];
  readonly #share: number;
  readonly #intervalMs: number;
  readonly #clock: () => number;
  readonly #probe: (point: RetentionPoint) => void;
  readonly #onReport: (report: RetentionReport) => void;
  readonly #stopped = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(options: RetentionOptions) {
    this.#keepers = keepersOf(options);
    this.#share = options.share ?? 0.25;
    if (!(this.#share >= 0.01 && this.#share <= 1)) throw invalidArgument('share', 'from 0.01 to 1', this.#share);
    this.#intervalMs = checkDuration(options.interval ?? '1h', 'interval');
    this.#clock = options.clock ?? Date.now;
    this.#probe = options.probe ?? (() => {});
    this.#onReport = options.onReport ?? (() => {});
  }

  plan(options: Omit<PassOptions, 'dryRun'> = {}): Promise<RetentionReport> {
    return this.run({ ...options, dryRun: true });
  }

  start(): void {
    this.#loop ??= this.#passLoop();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
  }

  async #passLoop(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const report = await this.run({ signal });
      try {
        this.#onReport(report);
      } catch {
        // A failing listener must not end the loop.
      }
      await sleep(this.#intervalMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }

  async run({ signal, onProgress, dryRun = false }: PassOptions = {}): Promise<RetentionReport> {
    const began = performance.now();
    const now = this.#clock();
    const report: RetentionReport = {
      startedAt: now,
      durationMs: 0,
      dryRun,
      finished: false,
      policies: {},
      problems: [],
    };
    for (const { kind, policies } of this.#keepers)
      for (const { name } of policies) report.policies[name] = emptyCounts(kind);
    const stopping = signal ? AbortSignal.any([signal, this.#stopped.signal]) : this.#stopped.signal;
    const pass = new Pass(report, new Pace(this.#share, stopping), stopping, this.#probe);
    const reportProgress = () => {
      report.durationMs = Math.round(performance.now() - began);
      onProgress?.(structuredClone({ ...report, problems: [] }));
    };
    for (const keeper of this.#keepers) {
      for (const policy of keeper.policies) {
        if (policy.action !== 'keep') await pass.follow(keeper, policy, reportProgress);
      }
    }
    report.finished = !stopping.aborted;
    report.durationMs = Math.round(performance.now() - began);
    return report;
  }
}

/** One pass over all policies. */
class Pass {
  readonly #report: RetentionReport;
  readonly #pace: Pace;
  readonly #signal: AbortSignal;
  readonly #probe: (point: RetentionPoint) => void;

  constructor(report: RetentionReport, pace: Pace, signal: AbortSignal, probe: (point: RetentionPoint) => void) {
    this.#report = report;
    this.#pace = pace;
    this.#signal = signal;
    this.#probe = probe;
  }

  async follow(keeper: Keeper, policy: CheckedPolicy, reportProgress: () => void): Promise<void> {
    let batch: Candidate[] = [];
    const flush = async () => {
      await this.#handle(policy, batch);
      batch = [];
      this.#probe('batch');
      reportProgress();
      await this.#pace.rest();
    };
    try {
      for await (const candidate of keeper.find(policy, this.#report.startedAt)) {
        if (this.#signal.aborted) return;
        batch.push(candidate);
        if (batch.length === BATCH) await flush();
      }
      if (batch.length > 0 && !this.#signal.aborted) await flush();
    } catch (error) {
      noteProblem(this.#report, policy.name, null, error);
    }
  }

  async #handle(policy: CheckedPolicy, batch: readonly Candidate[]): Promise<void> {
    this.#probe('found');
    const queue = batch.values();
    const work = async () => {
      for (const candidate of queue) if (!this.#signal.aborted) await this.#handleOne(policy, candidate);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, batch.length) }, work));
  }

  async #handleOne(policy: CheckedPolicy, candidate: Candidate): Promise<void> {
    const counts = this.#report.policies[policy.name]!;
    counts.found++;
    counts.events += candidate.events;
    try {
      if (this.#report.dryRun) {
        counts.bytes += await retry(TRIES, () => candidate.bytes());
      } else {
        this.#probe('removing');
        counts[await retry(TRIES, () => candidate.remove(() => this.#pace.rest()))]++;
        this.#probe('removed');
      }
    } catch (error) {
      noteProblem(this.#report, policy.name, candidate.id, error);
    }
  }
}

/** Returns the keepers of all kinds, with their policies checked. */
function keepersOf({ store, policies, archiver }: RetentionOptions): Keeper[] {
  const names = new Set<string>();
  const checked = <K extends keyof RetentionPolicies, C>(
    kind: K,
    check: (policy: NonNullable<RetentionPolicies[K]>[number], field: string) => C,
  ) =>
    (policies[kind] ?? []).map((policy, at) => {
      const result = check(policy, `policies.${kind}[${at}]`);
      if (names.has(policy.name)) throw invalidArgument(`policies.${kind}[${at}].name`, 'unique', policy.name);
      names.add(policy.name);
      return result;
    });
  return [
    runKeeper(
      store,
      checked('runs', (it, field) => checkRunPolicy(it, field, archiver !== undefined)),
      archiver,
    ),
    sessionKeeper(store, checked('sessions', checkAged)),
    memoryKeeper(store, checked('memory', checkAged)),
    artifactKeeper(store, checked('artifacts', checkAged)),
    jobKeeper(
      store,
      checked('jobs', (it, field) => ({ ...checkAged(it, field), states: checkJobStates(it, field) })),
    ),
    kvKeeper(store, checked('kv', checkAged)),
  ] as Keeper[];
}

/**
 * Retention: lets go of what its policies say, in small batches with a rest after each, so that writers hardly notice.
 * A pass keeps no state of its own: what is gone is not found again, so one that was killed is finished by the next.
 */
import { type Duration, invalidArgument, type Store } from '@tidemark/core';
import { checkDuration, sleep } from '@tidemark/core/engine';
import { resend } from '../jobs/resend.ts';
import { Pace } from '../pace.ts';
import { checkAged, checkJobStates, checkRunPolicy } from './checks.ts';
import { artifactKeeper, jobKeeper, kvKeeper, memoryKeeper } from './documents.ts';
import type { Candidate, CheckedPolicy, Keeper } from './keeper.ts';
import type { RetentionPolicies } from './policies.ts';
import { emptyCounts, noteProblem, type RetentionReport } from './report.ts';
import { type RunArchiver, runKeeper } from './runs.ts';
import { sessionKeeper } from './sessions.ts';

/** Points at which tests crash. */
export type RetentionPoint = 'found' | 'removing' | 'removed' | 'batch';

export interface RetentionOptions {
  store: Store;
  policies: RetentionPolicies;
  /** Needed when a policy archives. */
  archiver?: RunArchiver;
  /** The share of the time in which it works, 0.01 to 1; the rest is for others. Default 0.25. */
  share?: number;
  /** From the end of a pass to the next one, give or take a fifth. Default 1 hour. */
  interval?: Duration;
  /** Called after every pass of the loop. */
  onReport?: (report: RetentionReport) => void;
  /** Milliseconds since the epoch; for tests. */
  clock?: () => number;
  /** Called at named points, for tests that crash there. */
  probe?: (point: RetentionPoint) => void;
}

export interface PassOptions {
  /** Ends the pass after the removals under way. */
  signal?: AbortSignal;
  /** Told the counts so far, after every batch. */
  onProgress?: (report: RetentionReport) => void;
  /** Only looks, and measures what it finds. */
  dryRun?: boolean;
}

export interface Retention {
  /** What a pass would let go, with counts and bytes; removes nothing. */
  plan(options?: Omit<PassOptions, 'dryRun'>): Promise<RetentionReport>;
  /** One pass, now. */
  run(options?: PassOptions): Promise<RetentionReport>;
  /** Passes again and again until it is stopped. */
  start(): void;
  /** Begins no other pass; resolves once the one under way has stopped. */
  stop(): Promise<void>;
}

const BATCH = 16;
const AT_ONCE = 4;
const TRIES = 3;

/**
 * Retention over a store. Any number of processes may run it.
 *
 * @example
 * const retention = createRetention({ store, policies: { runs: [{ name: 'old', olderThan: '90d', action: 'delete' }] } });
 * console.log((await retention.plan()).policies.old);
 * retention.start();
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
    this.#loop ??= this.#passOnAndOn();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
  }

  async #passOnAndOn(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const report = await this.run({ signal });
      try {
        this.#onReport(report);
      } catch {
        // A listener that fails must not end the loop.
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
    const told = () => {
      report.durationMs = Math.round(performance.now() - began);
      onProgress?.(structuredClone({ ...report, problems: [] }));
    };
    for (const keeper of this.#keepers) {
      for (const policy of keeper.policies) {
        if (policy.action !== 'keep') await pass.follow(keeper, policy, told);
      }
    }
    report.finished = !stopping.aborted;
    report.durationMs = Math.round(performance.now() - began);
    return report;
  }
}

/** One pass through all policies. */
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

  async follow(keeper: Keeper, policy: CheckedPolicy, told: () => void): Promise<void> {
    let batch: Candidate[] = [];
    const flush = async () => {
      await this.#handle(policy, batch);
      batch = [];
      this.#probe('batch');
      told();
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
        counts.bytes += await resend(TRIES, () => candidate.bytes());
      } else {
        this.#probe('removing');
        counts[await resend(TRIES, () => candidate.remove(() => this.#pace.rest()))]++;
        this.#probe('removed');
      }
    } catch (error) {
      noteProblem(this.#report, policy.name, candidate.id, error);
    }
  }
}

/** The kinds that have policies, each with its policies checked. */
function keepersOf({ store, policies, archiver }: RetentionOptions): Keeper[] {
  const names = new Set<string>();
  const checked = <K extends keyof RetentionPolicies, C>(
    kind: K,
    check: (policy: NonNullable<RetentionPolicies[K]>[number], field: string) => C,
  ) =>
    (policies[kind] ?? []).map((policy, at) => {
      const result = check(policy, `policies.${kind}[${at}]`);
      if (names.has(policy.name))
        throw invalidArgument(`policies.${kind}[${at}].name`, 'a name of its own', policy.name);
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

/**
 * The sweeper (KV-8) finds stuck jobs, recovers them, and publishes a signal for each. Any number of sweepers may run:
 * a recovery is conditional on the job state that was read, so only one sweeper succeeds.
 */
import { randomUUID } from 'node:crypto';
import { type Duration, invalidArgument, type Job, type Meter, type OverdueJob, type Store } from '@tidemark/core';
import { checkDuration, checkInteger, sleep } from '@tidemark/core/engine';
import { retry } from './retry.ts';
import { type Publish, signalOf, subjectOf } from './signals.ts';
import { SweepMetrics } from './sweep-metrics.ts';
import { emptyCounts, type SweepCounts, type SweepReport } from './sweep-report.ts';

/**
 * How long a job may stay unchanged: one value for all types, or values for some types and a default for all others.
 */
export type Thresholds = Duration | (Record<string, Duration> & { default: Duration });

/** Options of `createSweeper`. */
export interface SweeperOptions {
  store: Pick<Store, 'jobs'>;
  /**
   * Publishes a signal for each recovered job, after the write and at least once. Default: no signals are published.
   */
  publish?: Publish;
  /** Time between sweeps, varied by up to a fifth so that sweepers drift apart. Default 30 s. */
  interval?: Duration;
  /** Default 5 minutes. */
  threshold?: Thresholds;
  /** Maximum number of jobs per type and sweep: 1 to 1 000, default 100. The next sweep recovers the rest. */
  limit?: number;
  /** Finds jobs without recovering them. */
  dryRun?: boolean;
  /** Called after every sweep. */
  onReport?: (report: SweepReport) => void;
  /** Records every sweep as `tidemark.sweep.duration`, `tidemark.sweep.jobs` and `tidemark.sweep.errors`. */
  meter?: Meter;
  /** Stops the sweeper. */
  signal?: AbortSignal;
}

/** Recovers jobs whose lease ended and starts those that are due. `createSweeper` returns one. */
export interface Sweeper {
  /** Runs one sweep now, or joins the sweep in progress. Never rejects: errors are in the report. */
  run(): Promise<SweepReport>;
  /** Sweeps repeatedly until stopped. */
  start(): void;
  /** Starts no further sweep. Resolves once the current one has ended. */
  stop(): Promise<void>;
}

const STATES = ['claimed', 'running', 'pending', 'delayed', 'failed'] as const;
/** Recoveries at the same time: as many as engines store in one shared commit. */
const AT_ONCE = 64;
const TRIES = 3;
/** Maximum number of unpublished signals that are kept. Jobs beyond this number are found again after the threshold. */
const MAX_UNSENT = 10_000;

/**
 * Creates a sweeper for the jobs of a store. Any number of processes may run one.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option.
 *
 * @example
 * const { publish } = inProcessPublisher();
 * const sweeper = createSweeper({ store, publish, threshold: { default: '5m', 'video-encode': '2h' } });
 * sweeper.start();
 * await sweeper.stop();
 */
export function createSweeper(options: SweeperOptions): Sweeper {
  return new StoreSweeper(options);
}

class StoreSweeper implements Sweeper {
  readonly #jobs: Store['jobs'];
  readonly #publish: Publish | undefined;
  readonly #intervalMs: number;
  readonly #thresholds: Map<string, number>;
  readonly #limit: number;
  readonly #dryRun: boolean;
  readonly #onReport: (report: SweepReport) => void;
  readonly #metrics: SweepMetrics | null;
  readonly #stopped = new AbortController();
  /** Jobs whose signal could not be published, by key. */
  readonly #unsent = new Map<string, Job>();
  #running: Promise<SweepReport> | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: SweeperOptions) {
    this.#jobs = options.store.jobs;
    this.#publish = options.publish;
    this.#intervalMs = checkDuration(options.interval ?? '30s', 'interval');
    this.#thresholds = thresholdsOf(options.threshold ?? '5m');
    this.#limit = checkInteger(options.limit ?? 100, 'limit', 1, 1_000);
    this.#dryRun = options.dryRun ?? false;
    this.#onReport = options.onReport ?? (() => {});
    this.#metrics = options.meter ? new SweepMetrics(options.meter) : null;
    const { signal } = options;
    if (signal?.aborted) this.#stopped.abort();
    signal?.addEventListener('abort', () => this.#stopped.abort(), { once: true });
  }

  run(): Promise<SweepReport> {
    this.#running ??= this.#sweep().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  start(): void {
    this.#loop ??= this.#sweepLoop();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#running;
  }

  async #sweepLoop(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.run();
      await sleep(this.#intervalMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }

  /** Runs one sweep. Errors are added to the report. */
  async #sweep(): Promise<SweepReport> {
    const report: SweepReport = { startedAt: Date.now(), durationMs: 0, types: {}, problems: [] };
    if (this.#dryRun) report.found = [];
    const began = performance.now();
    try {
      await this.#publishUnsent(report);
      for (const taskType of await this.#types()) {
        if (this.#stopped.signal.aborted) break;
        await this.#sweepType(taskType, report);
      }
    } catch (error) {
      report.problems.push({ taskType: null, error });
    }
    report.durationMs = Math.round(performance.now() - began);
    try {
      this.#metrics?.swept(report);
      this.#onReport(report);
    } catch (error) {
      // A failing listener must not end the loop.
      report.problems.push({ taskType: null, error });
    }
    return report;
  }

  /** Returns the types with jobs that may be overdue. */
  async #types(): Promise<string[]> {
    const types = await Promise.all(STATES.map((state) => retry(TRIES, () => this.#jobs.types(state))));
    return [...new Set(types.flat())].sort();
  }

  async #sweepType(taskType: string, report: SweepReport): Promise<void> {
    const threshold = this.#thresholds.get(taskType) ?? this.#thresholds.get('default')!;
    let overdue: OverdueJob[];
    try {
      overdue = await retry(TRIES, () => this.#jobs.overdue(taskType, { threshold, limit: this.#limit }));
    } catch (error) {
      note(report, taskType, error);
      return;
    }
    if (overdue.length > 0) countsOf(report, taskType).seen += overdue.length;
    report.found?.push(...overdue);
    if (this.#dryRun) return;
    const queue = overdue.values();
    const work = async () => {
      for (const it of queue) if (!this.#stopped.signal.aborted) await this.#push(it, report);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, overdue.length) }, work));
  }

  async #push(overdue: OverdueJob, report: SweepReport): Promise<void> {
    const { taskType } = overdue.job;
    // The same id for every retry. If a reply is lost, the retry returns the outcome of the recovery.
    const requestId = randomUUID();
    try {
      const { outcome, job } = await retry(TRIES, () => this.#jobs.recover(overdue, { requestId }));
      countsOf(report, taskType)[outcome]++;
      if (outcome !== 'missed') await this.#announce(job, report);
    } catch (error) {
      note(report, taskType, error);
    }
  }

  async #publishUnsent(report: SweepReport): Promise<void> {
    for (const job of [...this.#unsent.values()]) await this.#announce(job, report);
  }

  /** Publishes the signal of a recovered job. A failed job is found again until its signal has been published. */
  async #announce(job: Job, report: SweepReport): Promise<void> {
    const signal = signalOf(job);
    try {
      if (this.#publish) {
        await this.#publish(subjectOf(job.taskType, signal.kind), signal);
        countsOf(report, job.taskType).published++;
      }
      this.#unsent.delete(job.key);
      if (job.state === 'failed') await retry(TRIES, () => this.#jobs.markAnnounced(job));
    } catch (error) {
      if (this.#unsent.size < MAX_UNSENT) this.#unsent.set(job.key, job);
      note(report, job.taskType, error);
    }
  }
}

function countsOf(report: SweepReport, taskType: string): SweepCounts {
  const counts = report.types[taskType] ?? emptyCounts();
  report.types[taskType] = counts;
  return counts;
}

function note(report: SweepReport, taskType: string, error: unknown): void {
  countsOf(report, taskType).errors++;
  report.problems.push({ taskType, error });
}

function thresholdsOf(threshold: Thresholds): Map<string, number> {
  if (typeof threshold !== 'object') return new Map([['default', checkDuration(threshold, 'threshold')]]);
  if (!Object.hasOwn(threshold, 'default')) {
    throw invalidArgument('threshold', 'one duration, or one for some types and a default for the others');
  }
  return new Map(
    Object.entries(threshold).map(([type, value]) => [type, checkDuration(value, `threshold.${type}`)] as const),
  );
}

/**
 * The sweeper (KV-8): looks for jobs that got stuck and gives each a push, then tells those who can do something about it.
 * Any number of sweepers may run: a push is conditional on what was seen, so only one of them makes it.
 */
import { randomUUID } from 'node:crypto';
import { type Duration, invalidArgument, type Job, type Meter, type OverdueJob, type Store } from '@tidemark/core';
import { checkDuration, checkInteger, sleep } from '@tidemark/core/engine';
import { resend } from './resend.ts';
import { type Publish, signalOf, subjectOf } from './signals.ts';
import { SweepMetrics } from './sweep-metrics.ts';
import { emptyCounts, type SweepCounts, type SweepReport } from './sweep-report.ts';

/** How long a job may go without a change; one for all types, or one for some and a default for the others. */
export type Thresholds = Duration | (Record<string, Duration> & { default: Duration });

export interface SweeperOptions {
  store: Pick<Store, 'jobs'>;
  /** Told of what was pushed, after the write and at least once. Without it nobody is told. */
  publish?: Publish;
  /** From the end of a sweep to the next one, give or take a fifth, so that sweepers drift apart. Default 30 s. */
  interval?: Duration;
  /** Default 5 minutes. */
  threshold?: Thresholds;
  /** How many jobs of a type one sweep takes: 1 to 1 000, default 100. What is left is for the next. */
  limit?: number;
  /** Only looks. */
  dryRun?: boolean;
  /** Called after every sweep. */
  onReport?: (report: SweepReport) => void;
  /** Gets every sweep as `tidemark.sweep.duration`, `tidemark.sweep.jobs` and `tidemark.sweep.errors`. */
  meter?: Meter;
  /** Stops the sweeper. */
  signal?: AbortSignal;
}

export interface Sweeper {
  /** One sweep, now; joins the one that is under way. */
  run(): Promise<SweepReport>;
  /** Sweeps again and again until it is stopped. */
  start(): void;
  /** Begins no other sweep; resolves once the one under way is over. */
  stop(): Promise<void>;
}

const STATES = ['claimed', 'running', 'pending', 'delayed', 'failed'] as const;
const AT_ONCE = 8;
const TRIES = 3;
/** Signals of which more are not kept: those jobs are found again after the threshold. */
const MOST_UNSENT = 10_000;

/**
 * A sweeper over a store.
 *
 * @example
 * const sweeper = createSweeper({ store, publish, threshold: { default: '5m', 'video-encode': '2h' } });
 * sweeper.start();
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
  /** Jobs whose signal could not be sent, by key. */
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
    this.#loop ??= this.#sweepOnAndOn();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#running;
  }

  async #sweepOnAndOn(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.run();
      await sleep(this.#intervalMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }

  /** One sweep; whatever fails is in the report. */
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
      // A listener that fails must not end the loop.
      report.problems.push({ taskType: null, error });
    }
    return report;
  }

  /** The types that have a job a sweep may have to do with. */
  async #types(): Promise<string[]> {
    const types = await Promise.all(STATES.map((state) => resend(TRIES, () => this.#jobs.types(state))));
    return [...new Set(types.flat())].sort();
  }

  async #sweepType(taskType: string, report: SweepReport): Promise<void> {
    const threshold = this.#thresholds.get(taskType) ?? this.#thresholds.get('default')!;
    let overdue: OverdueJob[];
    try {
      overdue = await resend(TRIES, () => this.#jobs.overdue(taskType, { threshold, limit: this.#limit }));
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
    // The same for every try: when a reply is lost, the next one hears what became of the push.
    const requestId = randomUUID();
    try {
      const { outcome, job } = await resend(TRIES, () => this.#jobs.recover(overdue, { requestId }));
      countsOf(report, taskType)[outcome]++;
      if (outcome !== 'missed') await this.#announce(job, report);
    } catch (error) {
      note(report, taskType, error);
    }
  }

  async #publishUnsent(report: SweepReport): Promise<void> {
    for (const job of [...this.#unsent.values()]) await this.#announce(job, report);
  }

  /** Tells of a job that was pushed; a failed one is found again until this has worked. */
  async #announce(job: Job, report: SweepReport): Promise<void> {
    const signal = signalOf(job);
    try {
      if (this.#publish) {
        await this.#publish(subjectOf(job.taskType, signal.kind), signal);
        countsOf(report, job.taskType).published++;
      }
      this.#unsent.delete(job.key);
      if (job.state === 'failed') await resend(TRIES, () => this.#jobs.markAnnounced(job));
    } catch (error) {
      if (this.#unsent.size < MOST_UNSENT) this.#unsent.set(job.key, job);
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

/**
 * A worker claims jobs of one type, sends heartbeats while the handler runs, and completes, parks or fails each job. When
 * a claim is lost, the handler's signal aborts and its result is ignored.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type ClaimedJob,
  type Duration,
  isTidemarkError,
  type Job,
  type JobRef,
  type JobStore,
  type ParkUntil,
  type Store,
} from '@tidemark/core';
import { checkDuration, checkId, checkInteger, checkOptionalBoolean, checkParkTime } from '@tidemark/core/engine';
import { Alarm } from './alarm.ts';
import { Heartbeats } from './heartbeats.ts';
import { retry } from './retry.ts';
import { type Publish, type SignalKind, signalOf, subjectOf } from './signals.ts';

/** The argument of a handler. */
export interface JobContext {
  job: Job;
  /** Aborts when the worker loses the job. Stop working: another worker may already run it. */
  signal: AbortSignal;
  /** Stores that the job has reached a step. */
  progress(currentStep: number, stepCount?: number): Promise<void>;
  /**
   * Returns the job to the queue until a time, or for a delay such as `'10m'`, once the handler has returned. The job is
   * then neither completed nor counted as a retry, and the result of the handler is ignored. A later call replaces the
   * time. If the handler throws, the job fails as usual.
   *
   * @throws `INVALID_ARGUMENT` for an invalid time or delay.
   */
  park(when: Duration | { until: number }): void;
}

/** The result of a handler. */
export interface JobResult {
  resultRef?: string;
  /** How long to keep the record of the job. */
  ttl?: Duration;
}

export interface WorkerOptions {
  store: Pick<Store, 'jobs'>;
  taskType: string;
  /** Runs the job. If it throws, the job is retried while it has retries left. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is an ordinary one.
  handler: (context: JobContext) => Promise<JobResult | void>;
  /** Name of the worker in job records. Default: host, process id and a random part. */
  worker?: string;
  /** How long the worker holds a job without a heartbeat. A heartbeat is sent every third of it. Default 60 s. */
  lease?: Duration;
  /** Number of jobs run concurrently. Default 1. */
  concurrency?: number;
  /** How often to look for jobs while there are none. Default 1 s. */
  pollEvery?: Duration;
  /** Also takes jobs whose lease has ended when no job is due, without waiting for a sweep. Default false. */
  takeExpired?: boolean;
  /** How long a failed job waits before its retry. Default: no delay. */
  retryDelay?: Duration;
  /** Subscribes to notifications of new jobs. Returns a function that unsubscribes. */
  wake?: (notify: () => void) => () => void;
  /**
   * Publishes progress and ends of jobs, after the write. A signal that fails is passed to `onError` and not retried.
   */
  publish?: Publish;
  /** Called with errors of handlers and with errors outside of them. */
  onError?: (error: unknown, job?: JobRef) => void;
  /** Stops the worker. */
  signal?: AbortSignal;
}

/** The arguments of a claim, as sent and as the error of a lost reply carries them. */
type ClaimCall = Parameters<JobStore['claim']>;

export interface Worker {
  start(): void;
  /** Claims no more jobs. Resolves once the current ones have ended. */
  stop(): Promise<void>;
}

const TRIES = 8;

/**
 * Creates a worker for jobs of one type. It claims jobs after `start()`.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option.
 *
 * @example
 * const worker = createWorker({
 *   store,
 *   taskType: 'email-send',
 *   handler: async ({ job }) => ({ resultRef: `sent:${job.taskId}` }),
 * });
 * worker.start();
 * await worker.stop();
 */
export function createWorker(options: WorkerOptions): Worker {
  return new StoreWorker(options);
}

class StoreWorker implements Worker {
  readonly #options: WorkerOptions;
  readonly #jobs: Store['jobs'];
  readonly #name: string;
  readonly #leaseMs: number;
  readonly #pollMs: number;
  readonly #concurrency: number;
  readonly #takeExpired: boolean;
  readonly #stopping = new AbortController();
  readonly #alarm = new Alarm();
  #loops: Promise<unknown> | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#jobs = options.store.jobs;
    this.#name = checkId(options.worker ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`, 'worker');
    this.#leaseMs = checkDuration(options.lease ?? '60s', 'lease');
    this.#pollMs = checkDuration(options.pollEvery ?? '1s', 'pollEvery');
    this.#concurrency = checkInteger(options.concurrency ?? 1, 'concurrency', 1);
    if (options.retryDelay !== undefined) checkDuration(options.retryDelay, 'retryDelay');
    this.#takeExpired = checkOptionalBoolean(options.takeExpired, 'takeExpired');
    const { signal } = options;
    if (signal?.aborted) this.#stopping.abort();
    signal?.addEventListener('abort', () => this.#stopping.abort(), { once: true });
    this.#stopping.signal.addEventListener('abort', () => this.#alarm.ring(), { once: true });
  }

  start(): void {
    if (this.#loops) return;
    this.#unsubscribe = this.#options.wake?.(() => this.#alarm.ring());
    this.#loops = Promise.all(Array.from({ length: this.#concurrency }, () => this.#workLoop()));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    await this.#loops;
  }

  async #workLoop(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const rung = this.#alarm.next(this.#pollMs * (0.8 + 0.4 * Math.random()));
      const claim = await this.#claim();
      if (claim) await this.#work(claim);
      else if (!this.#stopping.signal.aborted) await rung.wait;
      rung.cancel();
    }
  }

  /**
   * Claims the next job, or returns `null`. After a lost reply it retries the claim of the error, which returns the job
   * it took.
   */
  async #claim(): Promise<ClaimedJob | null> {
    const [worker, lease, takeExpired] = [this.#name, this.#leaseMs, this.#takeExpired];
    let call: ClaimCall = [{ taskType: this.#options.taskType }, { worker, lease, takeExpired }];
    try {
      return await retry(TRIES, async () => {
        try {
          return await this.#jobs.claim(...call);
        } catch (error) {
          if (isTidemarkError(error, 'OUTCOME_UNKNOWN') && error.write?.method === 'claim') call = error.write.args;
          throw error;
        }
      });
    } catch (error) {
      this.#options.onError?.(error);
      return null;
    }
  }

  async #work(claim: ClaimedJob): Promise<void> {
    const heartbeats = new Heartbeats(this.#jobs, claim, this.#leaseMs);
    try {
      const ended = await this.#handle(claim, heartbeats);
      if (ended) await this.#publish(ended);
    } catch (error) {
      this.#options.onError?.(error, claim);
    } finally {
      heartbeats.stop();
    }
  }

  /** Runs the handler and returns the job to announce, or `null` if the job was parked or lost. */
  async #handle(claim: ClaimedJob, heartbeats: Heartbeats): Promise<Job | null> {
    const { handler, retryDelay, onError } = this.#options;
    const progress = async (currentStep: number, stepCount?: number) => {
      const step = stepCount === undefined ? { currentStep } : { currentStep, stepCount };
      const job = await heartbeats.guard(() => retry(TRIES, () => this.#jobs.progress(claim, step), heartbeats.signal));
      await this.#publish(job, 'progress');
    };
    let parkUntil: ParkUntil | undefined;
    const park = (when: Duration | { until: number }) => {
      const wanted = typeof when === 'object' ? when : { delay: when };
      checkParkTime(wanted);
      parkUntil = wanted;
    };
    let result: JobResult;
    try {
      result = (await handler({ job: claim.job, signal: heartbeats.signal, progress, park })) ?? {};
    } catch (error) {
      onError?.(error, claim);
      if (heartbeats.signal.aborted) return null;
      const failure = { error: textOf(error), ...(retryDelay === undefined ? {} : { delay: retryDelay }) };
      return heartbeats.guard(() => retry(TRIES, () => this.#jobs.fail(claim, failure)));
    }
    if (heartbeats.signal.aborted) throw heartbeats.signal.reason;
    const when = parkUntil;
    if (when) {
      await heartbeats.guard(() => retry(TRIES, () => this.#jobs.park(claim, when)));
      return null;
    }
    return heartbeats.guard(() => retry(TRIES, () => this.#jobs.complete(claim, result)));
  }

  async #publish(job: Job, kind?: SignalKind): Promise<void> {
    const signal = signalOf(job, kind);
    try {
      await this.#options.publish?.(subjectOf(job.taskType, signal.kind), signal);
    } catch (error) {
      this.#options.onError?.(error, job);
    }
  }
}

/** Returns an error's message as text that every engine can store. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.toWellFormed().replaceAll('\0', '\uFFFD').slice(0, 2_000).toWellFormed();
}

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

/** Passed to a handler with the job. */
export interface JobContext {
  job: Job;
  /** Aborts when the worker loses the job. Stop working: another worker may already run it. */
  signal: AbortSignal;
  /** Stores that the job has reached a step. */
  progress(currentStep: number, stepCount?: number): Promise<void>;
  /**
   * Returns the job to the queue once the handler has returned. The job then waits until a time, or for a delay such as
   * `'10m'`. It is neither completed nor counted as a retry, and the result of the handler is ignored. A later call
   * replaces the time. If the handler throws, the job fails as usual.
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

/** Options of `createWorker`. */
export interface WorkerOptions {
  store: Pick<Store, 'jobs'>;
  taskType: string;
  /** Runs the job. If the handler throws, the job is retried while it has retries left. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler may return nothing.
  handler: (context: JobContext) => Promise<JobResult | void>;
  /** Name of the worker in job records. Default: host, process id and a random part. */
  worker?: string;
  /**
   * How long the worker holds a job without a heartbeat. A heartbeat is sent every third of this time. Default 60 s.
   */
  lease?: Duration;
  /** Number of jobs run concurrently. Default 1. */
  concurrency?: number;
  /** How often to look for jobs while there are none. Default 1 s. */
  pollEvery?: Duration;
  /** Also takes jobs whose lease has ended, without waiting for a sweep, when no other job is due. Default false. */
  takeExpired?: boolean;
  /** How long a failed job waits before its retry. Default: no delay. */
  retryDelay?: Duration;
  /** Subscribes to notifications of new jobs. Returns a function that unsubscribes. */
  wake?: (notify: () => void) => () => void;
  /**
   * Publishes progress, completion and failure of jobs after the write. If publishing fails, the error is passed to
   * `onError` and the signal is not retried.
   */
  publish?: Publish;
  /** Called with errors that handlers throw and with all other errors of the worker. */
  onError?: (error: unknown, job?: JobRef) => void;
  /** Stops the worker. */
  signal?: AbortSignal;
}

/** The arguments of a claim. The error of a lost reply carries the same arguments. */
type ClaimCall = Parameters<JobStore['claim']>;

/** Claims and runs jobs of one type. `createWorker` returns one. */
export interface Worker {
  start(): void;
  /** Stops claiming jobs. Resolves once the current jobs have ended. */
  stop(): Promise<void>;
}

/** Stores the end of a job. Returns the job whose end is published, or `null` if the job was parked or lost. */
type EndOfJob = () => Promise<Job | null>;

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
  readonly #stopping = new AbortController();
  readonly #alarm = new Alarm();
  readonly #claimCall: ClaimCall;
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
    const [worker, lease] = [this.#name, this.#leaseMs];
    const takeExpired = checkOptionalBoolean(options.takeExpired, 'takeExpired');
    this.#claimCall = [{ taskType: options.taskType }, { worker, lease, takeExpired }];
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

  /** Claims the next job while the end of the last one is being stored, which saves a round trip per job. */
  async #workLoop(): Promise<void> {
    let ending: Promise<void> | undefined;
    while (!this.#stopping.signal.aborted) {
      const { rings } = this.#alarm;
      const claim = await this.#claim();
      if (claim) ({ ending } = await this.#work(claim, ending));
      else if (ending) {
        // The last job may return to the queue once its end is stored.
        await ending;
        ending = undefined;
      } else if (!this.#stopping.signal.aborted)
        await this.#alarm.wait(rings, this.#pollMs * (0.8 + 0.4 * Math.random()));
    }
    await ending;
  }

  /**
   * Claims the next job, or returns `null`. If the reply is lost, retries the claim that the error carries, which
   * returns the same job.
   */
  async #claim(): Promise<ClaimedJob | null> {
    let call = this.#claimCall;
    try {
      return await retry(TRIES, () =>
        this.#jobs.claim(...call).catch((error: unknown) => {
          if (isTidemarkError(error, 'OUTCOME_UNKNOWN') && error.write?.method === 'claim') call = error.write.args;
          throw error;
        }),
      );
    } catch (error) {
      this.#options.onError?.(error);
      return null;
    }
  }

  /**
   * Runs the handler, and resolves when the end of the job is about to be stored. At most one job of a loop may be in
   * that state, so the end of the previous job, `before`, is awaited first.
   */
  async #work(claim: ClaimedJob, before: Promise<void> | undefined): Promise<{ ending: Promise<void> }> {
    const heartbeats = new Heartbeats(this.#jobs, claim, this.#leaseMs);
    const end = await this.#handle(claim, heartbeats);
    await before;
    return { ending: this.#end(claim, heartbeats, end) };
  }

  async #end(claim: ClaimedJob, heartbeats: Heartbeats, end: EndOfJob): Promise<void> {
    try {
      const ended = await end();
      if (ended) await this.#publish(ended);
    } catch (error) {
      this.#options.onError?.(error, claim);
    } finally {
      heartbeats.stop();
    }
  }

  /** Runs the handler and returns a function that stores the end of the job. */
  async #handle(claim: ClaimedJob, heartbeats: Heartbeats): Promise<EndOfJob> {
    const { handler, retryDelay, onError } = this.#options;
    const store = (end: () => Promise<Job>) => heartbeats.guard(() => retry(TRIES, end));
    let parkUntil: ParkUntil | undefined;
    const context: JobContext = {
      job: claim.job,
      // Few handlers ask for the signal, and creating one takes as long as a short query.
      get signal() {
        return heartbeats.signal;
      },
      progress: (currentStep, stepCount) => this.#progress(claim, heartbeats, currentStep, stepCount),
      park: (when) => {
        const wanted = typeof when === 'object' ? when : { delay: when };
        checkParkTime(wanted);
        parkUntil = wanted;
      },
    };
    let result: JobResult;
    try {
      result = (await handler(context)) ?? {};
    } catch (error) {
      onError?.(error, claim);
      const failure = { error: textOf(error), ...(retryDelay === undefined ? {} : { delay: retryDelay }) };
      return async () => (heartbeats.loss ? null : store(() => this.#jobs.fail(claim, failure)));
    }
    return async () => {
      if (heartbeats.loss) throw heartbeats.loss.reason;
      const when = parkUntil;
      if (!when) return store(() => this.#jobs.complete(claim, result));
      await store(() => this.#jobs.park(claim, when));
      return null;
    };
  }

  async #progress(claim: ClaimedJob, heartbeats: Heartbeats, currentStep: number, stepCount?: number): Promise<void> {
    const step = stepCount === undefined ? { currentStep } : { currentStep, stepCount };
    const job = await heartbeats.guard(() => retry(TRIES, () => this.#jobs.progress(claim, step), heartbeats.signal));
    await this.#publish(job, 'progress');
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

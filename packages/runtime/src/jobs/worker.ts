/**
 * A worker: claims jobs of one type, gives signs of life while the handler works, and ends each job as the handler did.
 * When the claim is lost the handler's signal aborts, and nothing it returns afterwards counts.
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
  type Store,
} from '@tidemark/core';
import { checkDuration, checkId, checkInteger } from '@tidemark/core/engine';
import { Alarm } from './alarm.ts';
import { LifeSigns } from './life-signs.ts';
import { resend } from './resend.ts';
import { type Publish, type SignalKind, signalOf, subjectOf } from './signals.ts';

/** What a handler works with. */
export interface JobContext {
  job: Job;
  /** Aborts when the job no longer belongs to this worker: another may be working on it, so stop. */
  signal: AbortSignal;
  /** Writes down that a step was reached. */
  progress(currentStep: number, stepCount?: number): Promise<void>;
}

/** What a handler may give back. */
export interface JobResult {
  resultRef?: string;
  /** When the record of the job may go. */
  ttl?: Duration;
}

export interface WorkerOptions {
  store: Pick<Store, 'jobs'>;
  taskType: string;
  /** Does the job. What it throws sends the job back while it has retries left. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is an ordinary one.
  handler: (context: JobContext) => Promise<JobResult | void>;
  /** Its name in the records. Default: host, process and a random part. */
  worker?: string;
  /** How long the job is this worker's without a sign of life; one is given every third of it. Default 60 s. */
  lease?: Duration;
  /** How many jobs at once. Default 1. */
  concurrency?: number;
  /** How often to look for jobs when there were none. Default 1 s. */
  pollEvery?: Duration;
  /** How long a job waits that is sent back. Default: not at all. */
  retryDelay?: Duration;
  /** Subscribes to whatever tells of new jobs; gives the function that ends it. */
  wake?: (notify: () => void) => () => void;
  /** Told of steps and endings, after the write. A signal that cannot be sent is reported and not sent again. */
  publish?: Publish;
  /** Called with what goes wrong outside of handlers, and with what handlers throw. */
  onError?: (error: unknown, job?: JobRef) => void;
  /** Stops the worker. */
  signal?: AbortSignal;
}

/** A claim as it is sent, and as the error of a lost reply carries it. */
type ClaimCall = Parameters<JobStore['claim']>;

export interface Worker {
  start(): void;
  /** Claims no more jobs; resolves once those in hand have ended. */
  stop(): Promise<void>;
}

const TRIES = 8;

/**
 * A worker for jobs of one type.
 *
 * @example
 * const worker = createWorker({ store, taskType: 'email-send', handler: async ({ job }) => send(job.paramsRef) });
 * worker.start();
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
    const { signal } = options;
    if (signal?.aborted) this.#stopping.abort();
    signal?.addEventListener('abort', () => this.#stopping.abort(), { once: true });
    this.#stopping.signal.addEventListener('abort', () => this.#alarm.ring(), { once: true });
  }

  start(): void {
    if (this.#loops) return;
    this.#unsubscribe = this.#options.wake?.(() => this.#alarm.ring());
    this.#loops = Promise.all(Array.from({ length: this.#concurrency }, () => this.#workOnAndOn()));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#unsubscribe?.();
    await this.#loops;
  }

  async #workOnAndOn(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const rung = this.#alarm.next(this.#pollMs * (0.8 + 0.4 * Math.random()));
      const claim = await this.#claim();
      if (claim) await this.#work(claim);
      else if (!this.#stopping.signal.aborted) await rung.wait;
      rung.cancel();
    }
  }

  /** The next job, or none for now. A claim whose reply was lost is retried as the error says, which finds what it took. */
  async #claim(): Promise<ClaimedJob | null> {
    let call: ClaimCall = [{ taskType: this.#options.taskType }, { worker: this.#name, lease: this.#leaseMs }];
    try {
      return await resend(TRIES, async () => {
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
    const signs = new LifeSigns(this.#jobs, claim, this.#leaseMs);
    try {
      const ended = await this.#handle(claim, signs);
      if (ended) await this.#tell(ended);
    } catch (error) {
      this.#options.onError?.(error, claim);
    } finally {
      signs.stop();
    }
  }

  /** The job as it ended; `null` when it was lost. */
  async #handle(claim: ClaimedJob, signs: LifeSigns): Promise<Job | null> {
    const { handler, retryDelay, onError } = this.#options;
    const progress = async (currentStep: number, stepCount?: number) => {
      const step = stepCount === undefined ? { currentStep } : { currentStep, stepCount };
      const job = await signs.guard(() => resend(TRIES, () => this.#jobs.progress(claim, step), signs.signal));
      await this.#tell(job, 'progress');
    };
    let result: JobResult;
    try {
      result = (await handler({ job: claim.job, signal: signs.signal, progress })) ?? {};
    } catch (error) {
      onError?.(error, claim);
      if (signs.signal.aborted) return null;
      const failure = { error: textOf(error), ...(retryDelay === undefined ? {} : { delay: retryDelay }) };
      return signs.guard(() => resend(TRIES, () => this.#jobs.fail(claim, failure)));
    }
    if (signs.signal.aborted) throw signs.signal.reason;
    return signs.guard(() => resend(TRIES, () => this.#jobs.complete(claim, result)));
  }

  async #tell(job: Job, kind?: SignalKind): Promise<void> {
    const signal = signalOf(job, kind);
    try {
      await this.#options.publish?.(subjectOf(job.taskType, signal.kind), signal);
    } catch (error) {
      this.#options.onError?.(error, job);
    }
  }
}

/** The message of what was thrown, as a text that any engine keeps. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.toWellFormed().replaceAll('\0', '\uFFFD').slice(0, 2_000).toWellFormed();
}

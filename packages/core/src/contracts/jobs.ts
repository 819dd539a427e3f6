/**
 * Jobs: task records in KV with claims, leases and fencing. A job is the KV record `gbe.state.tasks.{type}.{id}`. KV
 * calls can read and write it; these calls are the safe way to change it.
 */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';

/** All states of a job. `completed`, `failed` and `cancelled` are final. */
export const JOB_STATES = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled'] as const;
/** The state of a job. */
export type JobState = (typeof JOB_STATES)[number];

/** The states by which jobs are listed: every job state, and `delayed` for pending jobs that are not due yet. */
// A pure call: bundlers do not remove an unused list that spreads another.
export const LISTED_JOB_STATES = /* @__PURE__ */ (() => [...JOB_STATES, 'delayed'] as const)();
/** A state by which jobs are listed. */
export type ListedJobState = (typeof LISTED_JOB_STATES)[number];

/** The fields of a task record, named as in the specification. Times are in milliseconds on the engine's clock. */
export interface JobFields {
  state: JobState;
  task_type: string;
  task_id: string;
  worker?: string;
  claim_id?: string;
  /** The claim that ended the job, kept so that a retry returns the same result. */
  ended_by?: string;
  /** The claim that last parked the job, kept so that a retry returns the same result. */
  parked_by?: string;
  current_step?: number;
  step_count?: number;
  created_at: number;
  updated_at: number;
  timeout_at?: number;
  /** The job is not due before this time. */
  run_at?: number;
  /** −1000 to 1000; higher values are claimed first. 0 if absent. */
  priority?: number;
  retry_count?: number;
  max_retries?: number;
  error?: string;
  params_ref?: string;
  result_ref?: string;
  /** Set on a job that a sweep failed, until `markAnnounced` is called. */
  unannounced?: true;
}

/** Names a job. Types are 1 to 100 of `A–Z a–z 0–9 _ -`, because they are part of keys and subjects. */
export interface JobRef {
  taskType: string;
  taskId: string;
}

/** A job as calls return it. Times are in milliseconds on the engine's clock. */
export interface Job extends JobRef {
  /** The key of its KV record. */
  key: string;
  state: JobState;
  /** The worker that claimed the job. */
  worker?: string;
  currentStep?: number;
  stepCount?: number;
  createdAt: number;
  updatedAt: number;
  /** When the lease ends. After that a sweep returns the job to the queue. */
  timeoutAt?: number;
  /** The job is not due before this time. */
  runAt?: number;
  priority: number;
  /** The number of times the job was returned to the queue. */
  retryCount: number;
  maxRetries: number;
  /** The last error. */
  error?: string;
  paramsRef?: string;
  resultRef?: string;
  /** The revision of the record: a different number after every change. */
  revision: number;
}

/** A new job. */
export interface NewJob extends JobRef {
  /** How long to wait before the job is due. */
  delay?: Duration;
  /** −1000 to 1000; higher values are claimed first. Default 0. */
  priority?: number;
  stepCount?: number;
  /** How often a failure or a sweep may return the job to the queue. Default 3. */
  maxRetries?: number;
  /** A reference to the parameters, such as the id of an artifact. */
  paramsRef?: string;
  /** More fields of the record, for the worker. Names of `JobFields` are refused. */
  fields?: Record<string, string | number | boolean>;
}

/** A worker's claim on a job. Every call that changes the job needs it. */
export interface JobClaim extends JobRef {
  claimId: string;
  /** The lease that a heartbeat renews by default. Default 60 s. */
  lease?: Duration;
}

/** A claim together with the claimed job. The other calls of the worker take it as their claim. */
export interface ClaimedJob extends JobClaim {
  job: Job;
}

/** Options of `claim`. */
export interface ClaimOptions extends CallOptions {
  /** The name of the worker, stored with the job. */
  worker: string;
  /** How long the job may go without a heartbeat before a sweep returns it to the queue. Default 60 s. */
  lease?: Duration;
  /**
   * Identifies the claim: 1 to 100 of `A–Z a–z 0–9 _ -`, random by default. A retry with the same id returns the job
   * that the first call claimed, in its current state, even if the job has ended or another worker has it. It never
   * claims a second job. The id is remembered for at least five minutes, and for as long as the job is held; on a
   * single Redis server, a generated id is remembered only while the job is held.
   */
  claimId?: string;
  /**
   * Also takes a job whose lease has ended, without waiting for a sweep: the named one, or the next one of the type if
   * no job is due. Counts a retry like a sweep does; a job with no retries left fails and is not returned. Default
   * false.
   */
  takeExpired?: boolean;
}

/** When a parked job is due: a time in milliseconds on the engine's clock, or a delay from now. */
export type ParkUntil = { until: number } | { delay: Duration };

/** Options of calls that change a job without a claim. */
export interface JobRequest extends CallOptions {
  /**
   * Identifies the call: a retry with the same id is not applied again and returns the same result. Random by default.
   */
  requestId?: string;
}

/** Why a sweep found a job overdue. */
export type OverdueReason = 'lease ended' | 'not updated' | 'not claimed' | 'due' | 'not announced';

/** An overdue job, as `overdue` returns it. */
export interface OverdueJob {
  job: Job;
  reason: OverdueReason;
}

/** The result of `recover`. */
export interface RecoveredJob {
  /**
   * `requeued`: returned to the queue, counted as a retry. `failed`: no retries were left. `released`: a delayed job is
   * now due. `signalled`: the record was only touched, so that its workers can be notified again. `missed`: the job
   * changed first, and nothing was done.
   */
  outcome: 'requeued' | 'failed' | 'released' | 'signalled' | 'missed';
  job: Job;
}

/**
 * A job queue with leases and fencing.
 *
 * At most one claim holds a job at a time. If a worker has lost its claim, all its calls fail with `CLAIM_LOST` and it
 * must stop. Errors that every call can throw are listed at `Store`.
 */
export interface JobStore {
  /**
   * Adds a job to the queue. If a job with the same type and id exists, returns it unchanged with `created: false`.
   *
   * @throws `CONFLICT` if the record exists but is not a job. `PAYLOAD_TOO_LARGE` if a field exceeds `info.limits`.
   *
   * @example
   * const mail = { taskType: 'email-send', taskId: 'welcome-ada', fields: { to: 'ada@example.com' } };
   * const { created } = await store.jobs.enqueue(mail);
   * const again = await store.jobs.enqueue(mail);
   * console.log(created, again.created, again.job.state); // true false pending
   */
  enqueue(job: NewJob, options?: CallOptions): Promise<{ job: Job; created: boolean }>;
  /** Returns a job, or `null` if there is none. */
  get(job: JobRef, options?: CallOptions): Promise<Job | null>;
  /**
   * Claims the named job, or the next one of a type, and returns it. Returns `null` if no job is due. With
   * `takeExpired` it also takes a job whose lease has ended.
   *
   * The next job is the one with the highest priority, then the oldest one. The order is approximate while several
   * processes claim at once.
   *
   * @throws `INVALID_ARGUMENT` if `worker` is missing.
   *
   * @example
   * await store.jobs.enqueue({ taskType: 'email-send', taskId: 'welcome-ada' });
   * const claim = await store.jobs.claim({ taskType: 'email-send' }, { worker: 'mailer-1', lease: '30s' });
   * if (claim) {
   *   await store.jobs.progress(claim, { currentStep: 1, stepCount: 2 });
   *   const job = await store.jobs.complete(claim, { resultRef: 'message-7', ttl: '7d' });
   *   console.log(job.taskId, job.state); // welcome-ada completed
   * }
   */
  claim(which: JobRef | { taskType: string }, options: ClaimOptions): Promise<ClaimedJob | null>;
  /**
   * Renews the lease and returns the job.
   *
   * @throws `CLAIM_LOST` if this claim no longer holds the job.
   */
  heartbeat(claim: JobClaim, options?: CallOptions & { lease?: Duration }): Promise<Job>;
  /**
   * Records that the job has reached a step, sets it to `running` and renews the lease.
   *
   * @throws `CLAIM_LOST` if this claim no longer holds the job.
   */
  progress(
    claim: JobClaim,
    step: { currentStep: number; stepCount?: number },
    options?: CallOptions & { lease?: Duration },
  ): Promise<Job>;
  /**
   * Completes the job. The record expires after `ttl`, by default never.
   *
   * A retry with the same claim returns the completed job.
   *
   * @throws `CLAIM_LOST` if this claim no longer holds the job.
   *
   * @example
   * const mail = { taskType: 'email-send', taskId: 'welcome-ada' };
   * await store.jobs.enqueue(mail);
   * const claim = await store.jobs.claim(mail, { worker: 'mailer-1' });
   * try {
   *   if (claim) await store.jobs.complete(claim, { resultRef: 'message-7' });
   * } catch (error) {
   *   if (!isTidemarkError(error, 'CLAIM_LOST')) throw error; // Otherwise another worker has the job: stop.
   * }
   * console.log((await store.jobs.get(mail))?.state); // completed
   */
  complete(claim: JobClaim, result?: { resultRef?: string; ttl?: Duration }, options?: CallOptions): Promise<Job>;
  /**
   * Returns the job to the queue after `delay` if it has retries left. Otherwise, or with `retry: false`, the job
   * becomes `failed` and its record expires after `ttl`.
   *
   * A retry with the same claim returns the same job.
   *
   * @throws `CLAIM_LOST` if this claim no longer holds the job.
   */
  fail(
    claim: JobClaim,
    failure: { error: string; retry?: boolean; delay?: Duration; ttl?: Duration },
    options?: CallOptions,
  ): Promise<Job>;
  /**
   * Returns the job to the queue until a given time, without counting a retry or recording an error. It is then listed
   * as `delayed`, keeps its step, and can be claimed once it is due or after `wake`. A time in the past is due at once.
   *
   * A retry with the same claim returns the job in its current state.
   *
   * @throws `CLAIM_LOST` if this claim no longer holds the job. `INVALID_ARGUMENT` unless exactly one of `until` and
   * `delay` is given.
   *
   * @example
   * const report = { taskType: 'report', taskId: 'march' };
   * await store.jobs.enqueue(report);
   * const claim = await store.jobs.claim(report, { worker: 'reporter-1' });
   * if (claim) await store.jobs.park(claim, { delay: '10m' }); // The data is not available yet.
   * const woken = await store.jobs.wake(report); // Now it is.
   * console.log(woken?.state, woken?.runAt, woken?.retryCount); // pending undefined 0
   */
  park(claim: JobClaim, when: ParkUntil, options?: CallOptions): Promise<Job>;
  /**
   * Makes a delayed or parked job ready before its time, and returns it. Does not change a job that is not delayed.
   * Returns `null` if there is no job.
   */
  wake(job: JobRef, options?: JobRequest): Promise<Job | null>;
  /**
   * Cancels a job, even if a worker holds it, and returns it. Does not change a job that has ended. Returns `null` if
   * there is no job.
   */
  cancel(job: JobRef, options?: JobRequest & { ttl?: Duration }): Promise<Job | null>;
  /**
   * Returns a failed or cancelled job to the queue and resets its retry count.
   *
   * @throws `CONFLICT` if the job is in another state or does not exist; `current` is its state.
   */
  requeue(job: JobRef, options?: JobRequest & { delay?: Duration }): Promise<Job>;
  /**
   * Returns a page of jobs in a state, ordered by type, then by the time of their last update, oldest first. `delayed`
   * lists pending jobs that are not due yet, the next one first. `failed` is the list of dead jobs. 1 to 1 000 per
   * page, default 100.
   */
  list(state: ListedJobState, options?: PageOptions & { taskType?: string }): Promise<Page<Job>>;
  /** Returns the task types that have a job in a state. */
  types(state: ListedJobState, options?: CallOptions): Promise<string[]>;
  /**
   * Returns jobs of a type that need attention, read from an index. In this order: jobs whose lease has ended, held
   * jobs not updated for `threshold`, delayed jobs that are due, failed jobs not announced for `threshold`, and pending
   * jobs not claimed for `threshold`. `limit` is 1 to 1 000, default 100.
   */
  overdue(taskType: string, options: CallOptions & { threshold: Duration; limit?: number }): Promise<OverdueJob[]>;
  /**
   * Recovers an overdue job as its reason requires, and returns the outcome. Does nothing if the job has changed since
   * `overdue` read it: the outcome is then `missed`.
   */
  recover(overdue: OverdueJob, options?: JobRequest): Promise<RecoveredJob>;
  /** Records that the failure of a job by a sweep was announced. Until then, sweeps keep finding the job. */
  markAnnounced(job: JobRef, options?: CallOptions): Promise<void>;
}

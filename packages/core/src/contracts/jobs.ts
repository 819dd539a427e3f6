/**
 * Jobs: task records on KV with claims, leases and fencing (document 003; KV-7). A job is the KV record
 * `gbe.state.tasks.{type}.{id}`, readable and writable as such; these calls are the safe way to move it.
 */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';

/** Every state of a job; `completed`, `failed` and `cancelled` are final. */
export const JOB_STATES = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** What jobs are listed by: a state, or `delayed` for pending jobs that wait for their time. */
export const LISTED_JOB_STATES = [...JOB_STATES, 'delayed'] as const;
export type ListedJobState = (typeof LISTED_JOB_STATES)[number];

/** The fields of a task record, by the names the specification gives them; times in milliseconds on the engine's clock. */
export interface JobFields {
  state: JobState;
  task_type: string;
  task_id: string;
  worker?: string;
  claim_id?: string;
  /** The claim that ended the job, kept so that the same call sent again hears the same answer. */
  ended_by?: string;
  current_step?: number;
  step_count?: number;
  created_at: number;
  updated_at: number;
  timeout_at?: number;
  /** Not before this time. */
  run_at?: number;
  /** −1000 to 1000, higher first; 0 when absent. */
  priority?: number;
  retry_count?: number;
  max_retries?: number;
  error?: string;
  params_ref?: string;
  result_ref?: string;
  /** Of a job that a sweep failed: nobody was told of it yet. */
  unannounced?: true;
}

/** Which job. Types are 1 to 100 of `A–Z a–z 0–9 _ -`, because they are a word of keys and subjects. */
export interface JobRef {
  taskType: string;
  taskId: string;
}

/** A job as readers get it. */
export interface Job extends JobRef {
  /** Its record in KV. */
  key: string;
  state: JobState;
  worker?: string;
  currentStep?: number;
  stepCount?: number;
  createdAt: number;
  updatedAt: number;
  /** When its lease ends; then a sweeper gives it to somebody else. */
  timeoutAt?: number;
  runAt?: number;
  priority: number;
  retryCount: number;
  maxRetries: number;
  error?: string;
  paramsRef?: string;
  resultRef?: string;
  /** Of the record; moves with every change. */
  revision: number;
}

/** A new job. The same type and id again is the same job: what is stored comes back unchanged. */
export interface NewJob extends JobRef {
  /** Not before this long from now. */
  delay?: Duration;
  /** −1000 to 1000, higher first. Default 0. */
  priority?: number;
  stepCount?: number;
  /** How often a sweeper or a failure may send it back. Default 3. */
  maxRetries?: number;
  paramsRef?: string;
  /** Further fields of the record, for the worker. Names of `JobFields` are refused. */
  fields?: Record<string, string | number | boolean>;
}

/** A worker's hold on a job; every call that moves the job shows it. */
export interface JobClaim extends JobRef {
  claimId: string;
  /** What a sign of life renews the lease to, unless it says otherwise. Default 60 s. */
  lease?: Duration;
}

/** A job with the hold that was just taken on it: the claim that the worker's other calls take. */
export interface ClaimedJob extends JobClaim {
  job: Job;
}

export interface ClaimOptions extends CallOptions {
  worker: string;
  /** How long without a sign of life until the job is given to somebody else. Default 60 s. */
  lease?: Duration;
  /**
   * Names the claim: 1 to 100 of `A–Z a–z 0–9 _ -`, chosen at random when absent. Retried with the same id, a claim returns the
   * job that it took, as it is now, though that has ended or belongs to another by then; it never takes a second one. Remembered
   * for at least five minutes, and for as long as the job is held.
   */
  claimId?: string;
}

/** Options of calls that change a job nobody need hold. */
export interface JobRequest extends CallOptions {
  /** Names the call, so that a retry of it is not applied again and returns the same. Chosen at random when absent. */
  requestId?: string;
}

/** What a sweep found in need of a push. */
export type OverdueReason = 'lease ended' | 'not updated' | 'not claimed' | 'due' | 'not announced';

export interface OverdueJob {
  job: Job;
  reason: OverdueReason;
}

/** How one overdue job went. */
export interface RecoveredJob {
  /** What was done: sent back (counted), failed for good, made ready, only signalled; `missed`: another changed it first. */
  outcome: 'requeued' | 'failed' | 'released' | 'signalled' | 'missed';
  job: Job;
}

/** Work to be claimed, with leases and fencing. */
export interface JobStore {
  /** `created` is false when the job was there already. */
  enqueue(job: NewJob, options?: CallOptions): Promise<{ job: Job; created: boolean }>;
  get(job: JobRef, options?: CallOptions): Promise<Job | null>;
  /**
   * Takes this job, or the next of a type: highest priority first, then the oldest, give or take a few while several
   * processes claim at once. `null` when there is none to take.
   */
  claim(which: JobRef | { taskType: string }, options: ClaimOptions): Promise<ClaimedJob | null>;
  /** A sign of life: the lease starts anew. `CLAIM_LOST` when the job is no longer this claim's, here and below. */
  heartbeat(claim: JobClaim, options?: CallOptions & { lease?: Duration }): Promise<Job>;
  /** The job is running and has reached a step; also a sign of life. */
  progress(
    claim: JobClaim,
    step: { currentStep: number; stepCount?: number },
    options?: CallOptions & { lease?: Duration },
  ): Promise<Job>;
  /** Ends the job. `ttl`: when the record may go; for ever when absent (KV-9). */
  complete(claim: JobClaim, result?: { resultRef?: string; ttl?: Duration }, options?: CallOptions): Promise<Job>;
  /** Sends the job back, after `delay`, while it has retries left; else, or with `retry: false`, it has failed for good. */
  fail(
    claim: JobClaim,
    failure: { error: string; retry?: boolean; delay?: Duration; ttl?: Duration },
    options?: CallOptions,
  ): Promise<Job>;
  /** Ends a job whoever holds it. Of a job that has ended nothing changes. `null` when there is none. */
  cancel(job: JobRef, options?: JobRequest & { ttl?: Duration }): Promise<Job | null>;
  /** A failed or cancelled job back to pending, its retries counted from 0. `CONFLICT` for any other, or none. */
  requeue(job: JobRef, options?: JobRequest & { delay?: Duration }): Promise<Job>;
  /**
   * Jobs of a state, by type, the one untouched for longest first. `delayed` are the pending ones that wait for their
   * time, the next one first; `failed` is the list of dead jobs.
   */
  list(state: ListedJobState, options?: PageOptions & { taskType?: string }): Promise<Page<Job>>;
  /** Task types that have a job in a state. */
  types(state: ListedJobState, options?: CallOptions): Promise<string[]>;
  /**
   * Jobs of a type that need a push (KV-8), found through an index: leases that have ended, held jobs not updated for
   * `threshold`, delayed ones whose time has come, jobs failed by a sweep and not announced for `threshold`, and
   * pending ones not claimed for `threshold`; 1 to 1 000 in this order, default 100.
   */
  overdue(taskType: string, options: CallOptions & { threshold: Duration; limit?: number }): Promise<OverdueJob[]>;
  /** Does what an overdue job needs, unless it has changed or ended since it was seen: then it is `missed`. */
  recover(overdue: OverdueJob, options?: JobRequest): Promise<RecoveredJob>;
  /** The end of a job that a sweep failed has been told to whom it concerns; until then sweeps find it again. */
  markAnnounced(job: JobRef, options?: CallOptions): Promise<void>;
}

/**
 * The job store (KV-7, KV-8, KV-9), built on records alone. Every state change of a job is one idempotent conditional
 * write. Clients can also change jobs with plain KV writes, which update the index but bypass the state machine.
 */

import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkDuration, checkLimit, checkOptionalDuration } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalBoolean, checkOptionalId, checkText } from '../checks/text.ts';
import type { CallOptions, Duration, Page, PageOptions } from '../contracts/common.ts';
import { TidemarkError } from '../contracts/errors.ts';
import {
  type ClaimedJob,
  type ClaimOptions,
  type Job,
  type JobClaim,
  type JobRef,
  type JobRequest,
  type JobState,
  type JobStore,
  LISTED_JOB_STATES,
  type ListedJobState,
  type NewJob,
  type OverdueJob,
  type ParkUntil,
  type RecoveredJob,
} from '../contracts/jobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records, StoredRecord } from '../engine/records.ts';
import { CONFLICT, Contention, refuseIfOver } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import { fieldsOf, textField } from '../tools/record-fields.ts';
import type { WriteCall } from '../tools/writes.ts';
import {
  checkClaim,
  checkClaimId,
  checkDelay,
  checkJobRef,
  checkNewJob,
  checkOverdue,
  checkReference,
  checkStep,
  checkTaskType,
  DEFAULT_LEASE_MS,
} from './arguments.ts';
import { Claimer, type ClaimRequest, type Taken } from './claims.ts';
import { indexRange } from './index-keys.ts';
import {
  advanced,
  cancelled,
  completed,
  failed,
  type Move,
  parked,
  renewed,
  requeued,
  sentBack,
  woken,
} from './moves.ts';
import { jobName, jobOf, stateOf } from './record.ts';
import { scanJobs } from './scan.ts';
import { claimLost, JOB_MOVES, mayMove } from './states.ts';
import { findOverdue, type RequestFields, recoverJob } from './sweeps.ts';
import { checkParkTime } from './times.ts';

/** The records of claimed jobs as this process saw them last, so that an engine need not read them again. */
const lastSeen = new WeakMap<JobClaim, StoredRecord>();

export class Jobs implements JobStore {
  readonly #context: StoreContext;
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #claimer: Claimer;
  readonly #contention: Contention;

  constructor(context: StoreContext, records: Records, tenantId: string) {
    this.#context = context;
    this.#records = records;
    this.#tenantId = tenantId;
    this.#claimer = new Claimer(records, tenantId, context.random);
    this.#contention = new Contention(context);
  }

  async enqueue(job: NewJob, options?: CallOptions): Promise<{ job: Job; created: boolean }> {
    const { ref, fields, delayMs } = checkNewJob(job, this.#context.limits.fieldBytes);
    const name = jobName(this.#tenantId, ref);
    const stamps = new Map(Object.entries({ created_at: 0, updated_at: 0 }));
    if (delayMs !== null) stamps.set('run_at', delayMs);
    const write = this.#context.writeOf('jobs', 'enqueue', [job, options]);
    const { applied, record } = await this.#context.write(options, write, (call) =>
      this.#records.write({ name, mode: 'merge', expect: { exists: false }, set: fields, stamps }, call),
    );
    const stored = jobOf(name.key, record);
    if (!stored) throw conflict(`The record ${name.key} already exists and is not a job`, null);
    return { job: stored, created: applied };
  }

  async get(job: JobRef, options?: CallOptions): Promise<Job | null> {
    const ref = checkJobRef(job);
    return this.#context.read(options, async (call) => jobOf(this.#key(ref), await this.#read(ref, call)));
  }

  async claim(which: JobRef | { taskType: string }, options: ClaimOptions): Promise<ClaimedJob | null> {
    const target = checkObject(which, 'which') as Partial<JobRef>;
    const { worker, lease, claimId, takeExpired } = checkObject(options, 'options') as unknown as ClaimOptions;
    const taskType = checkTaskType(target.taskType);
    const by = {
      worker: checkId(worker, 'worker'),
      leaseMs: checkOptionalDuration(lease, 'lease', DEFAULT_LEASE_MS),
      claimId: claimId === undefined ? this.#claimer.newClaimId(this.#context.uuid()) : checkClaimId(claimId),
      isNew: claimId === undefined,
      takeExpired: checkOptionalBoolean(takeExpired, 'takeExpired'),
    };
    const retryOptions = { worker, lease: by.leaseMs, claimId: by.claimId, takeExpired: by.takeExpired };
    const ref = target.taskId === undefined ? null : checkJobRef(which, 'which');
    const write = this.#context.writeOf('jobs', 'claim', [ref ?? { taskType }, retryOptions]);
    const taken = await this.#context.write(options, write, async (call) => {
      if (ref) return this.#claimer.takeOne(ref, by, call);
      if (!by.isNew) return this.#claimer.takeOnce(taskType, by, call);
      return this.#claimer.takeNext(taskType, by, call, (job) => {
        write.args[0] = job;
      });
    });
    return taken && claimedJob(taken, by);
  }

  async heartbeat(claim: JobClaim, options?: CallOptions & { lease?: Duration }): Promise<Job> {
    const held = checkClaim(claim);
    const leaseMs = checkOptionalDuration(options?.lease, 'lease', held.leaseMs);
    const write = this.#context.writeOf('jobs', 'heartbeat', [claim, options]);
    return this.#moveHeld(claim, held, renewed(leaseMs), options, write);
  }

  async progress(
    claim: JobClaim,
    step: { currentStep: number; stepCount?: number },
    options?: CallOptions & { lease?: Duration },
  ): Promise<Job> {
    const held = checkClaim(claim);
    const reached = checkStep(step);
    const leaseMs = checkOptionalDuration(options?.lease, 'lease', held.leaseMs);
    const write = this.#context.writeOf('jobs', 'progress', [claim, step, options]);
    return this.#moveHeld(claim, held, advanced(reached, leaseMs), options, write);
  }

  async complete(
    claim: JobClaim,
    result?: { resultRef?: string; ttl?: Duration },
    options?: CallOptions,
  ): Promise<Job> {
    const held = checkClaim(claim);
    const given = checkObject(result ?? {}, 'result');
    const resultRef = checkReference(given.resultRef, 'resultRef', this.#context.limits.fieldBytes);
    const move = completed(held.claimId, resultRef, checkTtl(given.ttl));
    const write = this.#context.writeOf('jobs', 'complete', [claim, result, options]);
    const wasDone = (record: StoredRecord) =>
      textField(record, 'ended_by') === held.claimId && stateOf(record) === 'completed';
    return this.#moveHeld(claim, held, move, options, write, wasDone);
  }

  async fail(
    claim: JobClaim,
    failure: { error: string; retry?: boolean; delay?: Duration; ttl?: Duration },
    options?: CallOptions,
  ): Promise<Job> {
    const held = checkClaim(claim);
    const given = checkObject(failure, 'failure') as unknown as typeof failure;
    const error = checkText(given.error, 'error', this.#context.limits.fieldBytes);
    const [delayMs, ttlMs] = [checkDelay(given.delay), checkTtl(given.ttl)];
    const mayRetry = given.retry === undefined || checkOptionalBoolean(given.retry, 'retry');
    const write = this.#context.writeOf('jobs', 'fail', [claim, failure, options]);
    return this.#context.write(options, write, (call) =>
      this.#contention.settle(call, async () => {
        const record = await this.#read(held, call);
        const job = jobOf(this.#key(held), record);
        // A job that this claim completed was not failed by it, so it does not count as a retry.
        if (job && record && textField(record, 'ended_by') === held.claimId && job.state !== 'completed') return job;
        if (!job || !record || textField(record, 'claim_id') !== held.claimId) throw claimLost(job?.state ?? null);
        const willRetry = mayRetry && job.retryCount < job.maxRetries;
        const move = willRetry
          ? sentBack(held.claimId, error, job.retryCount + 1, delayMs)
          : failed(held.claimId, error, ttlMs);
        const seen = ['claim_id', 'retry_count', 'max_retries'].map(
          (field) => [field, record.fields.get(field) ?? null] as const,
        );
        return (await this.#change(held, move, { fields: new Map(seen) }, call)) ?? CONFLICT;
      }),
    );
  }

  async park(claim: JobClaim, when: ParkUntil, options?: CallOptions): Promise<Job> {
    const held = checkClaim(claim);
    const move = parked(held.claimId, checkParkTime(when));
    const write = this.#context.writeOf('jobs', 'park', [claim, when, options]);
    const wasDone = (record: StoredRecord) => textField(record, 'parked_by') === held.claimId;
    return this.#moveHeld(claim, held, move, options, write, wasDone);
  }

  async wake(job: JobRef, options?: JobRequest): Promise<Job | null> {
    const ref = checkJobRef(job);
    const request = this.#request(options);
    const { requestId } = request;
    const write = this.#context.writeOf('jobs', 'wake', [job, { ...options, requestId }]);
    return this.#context.write(options, write, (call) =>
      this.#contention.settle(call, async () => {
        const record = await this.#read(ref, call);
        const stored = jobOf(this.#key(ref), record);
        if (!stored || stored.runAt === undefined || !mayMove(stored.state, 'wake')) return stored;
        const expect = { fields: fieldsOf({ state: stored.state, run_at: textField(record!, 'run_at') }) };
        return (await this.#change(ref, woken(), expect, call, request)) ?? CONFLICT;
      }),
    );
  }

  async cancel(job: JobRef, options?: JobRequest & { ttl?: Duration }): Promise<Job | null> {
    const ref = checkJobRef(job);
    const ttlMs = checkTtl(options?.ttl);
    const request = this.#request(options);
    const { requestId } = request;
    const write = this.#context.writeOf('jobs', 'cancel', [job, { ...options, requestId }]);
    return this.#context.write(options, write, (call) =>
      this.#contention.settle(call, async () => {
        const stored = jobOf(this.#key(ref), await this.#read(ref, call));
        if (!stored || !mayMove(stored.state, 'cancel')) return stored;
        // Conditional only on the state, so that a worker's heartbeats cannot block the cancellation.
        const expect = { fields: fieldsOf({ state: stored.state }) };
        return (await this.#change(ref, cancelled(ttlMs), expect, call, request)) ?? CONFLICT;
      }),
    );
  }

  async requeue(job: JobRef, options?: JobRequest & { delay?: Duration }): Promise<Job> {
    const ref = checkJobRef(job);
    const delayMs = checkDelay(options?.delay);
    const request = this.#request(options);
    const { requestId } = request;
    const write = this.#context.writeOf('jobs', 'requeue', [job, { ...options, requestId }]);
    return this.#context.write(options, write, async (call) => {
      const seen = stateOf(await this.#read(ref, call));
      // Leave other states for the write to reject: only the write knows whether this request was already applied.
      const state = seen !== null && mayMove(seen, 'requeue') ? seen : 'failed';
      const moved = await this.#change(ref, requeued(delayMs), { fields: fieldsOf({ state }) }, call, request);
      if (moved) return moved;
      const now = stateOf(await this.#read(ref, call));
      throw conflict(
        `Only a ${JOB_MOVES.requeue.from.join(' or ')} job can be requeued; this one ${now ? `is ${now}` : 'does not exist'}`,
        now,
      );
    });
  }

  async list(state: ListedJobState, options?: PageOptions & { taskType?: string }): Promise<Page<Job>> {
    checkOneOf(state, 'state', LISTED_JOB_STATES);
    const taskType = options?.taskType === undefined ? undefined : checkTaskType(options.taskType);
    const limit = checkLimit(options?.limit, 100, 1_000);
    const range = indexRange(state, taskType);
    const after = options?.cursor === undefined ? undefined : checkCursor(options.cursor, range);
    const rows = await this.#context.read(options, (call) =>
      scanJobs(this.#records, this.#tenantId, { ...range, after, limit: limit + 1 }, call),
    );
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const items = rows.slice(0, limit).flatMap((row) => jobOf(row.key, row) ?? []);
    return last ? { items, next: encodeCursor([last.indexKey, last.key]) } : { items };
  }

  async types(state: ListedJobState, options?: CallOptions): Promise<string[]> {
    checkOneOf(state, 'state', LISTED_JOB_STATES);
    return this.#context.read(options, async (call) => {
      const types: string[] = [];
      const { to, ...range } = indexRange(state);
      for (let { from } = range; ; ) {
        const [row] = await scanJobs(this.#records, this.#tenantId, { from, to, limit: 1 }, call);
        if (!row) return types;
        const type = row.indexKey.split('/')[1]!;
        types.push(type);
        from = indexRange(state, type).to;
      }
    });
  }

  async overdue(
    taskType: string,
    options: CallOptions & { threshold: Duration; limit?: number },
  ): Promise<OverdueJob[]> {
    const { threshold, limit } = checkObject(options, 'options') as unknown as typeof options;
    const query = {
      taskType: checkTaskType(taskType),
      thresholdMs: checkDuration(threshold, 'threshold'),
      limit: checkLimit(limit, 100, 1_000),
    };
    return this.#context.read(options, (call) => findOverdue(this.#records, this.#tenantId, query, call));
  }

  async recover(overdue: OverdueJob, options?: JobRequest): Promise<RecoveredJob> {
    const seen = checkOverdue(overdue);
    const request = this.#request(options);
    const { requestId } = request;
    const write = this.#context.writeOf('jobs', 'recover', [overdue, { ...options, requestId }]);
    return this.#context.write(options, write, (call) =>
      recoverJob(this.#records, this.#tenantId, seen, request, call),
    );
  }

  async markAnnounced(job: JobRef, options?: CallOptions): Promise<void> {
    const name = jobName(this.#tenantId, checkJobRef(job));
    const [state] = JOB_MOVES.announce.from;
    const [expect, set] = [{ fields: fieldsOf({ state }) }, fieldsOf({ unannounced: null })];
    const write = this.#context.writeOf('jobs', 'markAnnounced', [job, options]);
    await this.#context.write(options, write, (call) =>
      this.#records.write({ name, mode: 'merge', expect, set, brief: true }, call),
    );
  }

  /** Performs a worker's move, conditional only on its claim. `wasDone` recognises a move that was already made. */
  #moveHeld(
    claim: JobClaim,
    held: JobRef & { claimId: string },
    move: Move,
    options: CallOptions | undefined,
    write: WriteCall,
    wasDone: (record: StoredRecord) => boolean = () => false,
  ): Promise<Job> {
    const name = jobName(this.#tenantId, held);
    const expect = { fields: fieldsOf({ claim_id: held.claimId }) };
    const known = lastSeen.get(claim);
    const apply = (call: EngineCall) => this.#records.write({ name, mode: 'merge', expect, known, ...move }, call);
    return this.#context.write(options, write, apply, ({ applied, record }) => {
      const job = jobOf(name.key, record);
      if (!job || !record || !(applied || wasDone(record))) throw claimLost(job?.state ?? null);
      lastSeen.set(claim, record);
      return job;
    });
  }

  /** Performs a conditional move and returns the job, or `null` when the condition did not hold. */
  async #change(
    job: JobRef,
    move: Move,
    expect: { fields: ReadonlyMap<string, Uint8Array | null> },
    call: EngineCall,
    request?: RequestFields,
  ): Promise<Job | null> {
    refuseIfOver(call);
    const name = jobName(this.#tenantId, job);
    const { applied, record } = await this.#records.write({ name, mode: 'merge', expect, ...move, ...request }, call);
    return applied ? jobOf(name.key, record) : null;
  }

  async #read(job: JobRef, call: EngineCall): Promise<StoredRecord | null> {
    const [record] = await this.#records.get([jobName(this.#tenantId, job)], call);
    return record ?? null;
  }

  #key(job: JobRef): string {
    return jobName(this.#tenantId, job).key;
  }

  #request(options: JobRequest | undefined): RequestFields {
    const requestId = checkOptionalId(options?.requestId, 'requestId');
    return { requestId: requestId ?? this.#context.uuid(), requestIsNew: requestId === null };
  }
}

function claimedJob({ key, record }: Taken, by: ClaimRequest): ClaimedJob | null {
  const job = jobOf(key, record);
  if (!job) return null;
  const claim = { taskType: job.taskType, taskId: job.taskId, claimId: by.claimId, lease: by.leaseMs, job };
  lastSeen.set(claim, record);
  return claim;
}

/** Returns how long to keep the record of a finished job; `null` keeps it forever. */
function checkTtl(ttl: unknown): number | null {
  return ttl === undefined ? null : checkDuration(ttl, 'ttl');
}

function checkCursor(cursor: string, range: { from: string; to: string }): { indexKey: string; key: string } {
  const isJobCursor = (values: unknown[]) => {
    const [indexKey, key] = values;
    if (values.length !== 2 || typeof indexKey !== 'string' || typeof key !== 'string') return false;
    return indexKey >= range.from && indexKey < range.to;
  };
  const [indexKey, key] = decodeCursor<[string, string]>(cursor, isJobCursor);
  return { indexKey, key };
}

function conflict(message: string, state: JobState | null): TidemarkError {
  return new TidemarkError('CONFLICT', message, {
    field: 'job',
    rule: 'in a state that allows the call',
    current: state,
  });
}

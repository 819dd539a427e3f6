/** Validates the arguments of job calls before anything is read or written. */
import { checkInteger, checkOptionalDuration } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { JobClaim, JobFields, JobRef, JobState, NewJob, OverdueJob, OverdueReason } from '../contracts/jobs.ts';
import { encodeFields, encodeValue } from '../kv/values.ts';
import { JOB_PREFIX } from '../tools/job-keys.ts';
import { CLAIM_ID } from './index-keys.ts';
import { DEFAULT_RETRIES, jobKey } from './record.ts';
import { isJobState, isTerminal, JOB_MOVES } from './states.ts';

export const DEFAULT_LEASE_MS = 60_000;
const MAX_PRIORITY = 1_000;
const MAX_KEY_BYTES = 512;
const WORD = /^[A-Za-z0-9_-]{1,100}$/;
const WORD_RULE = '1 to 100 of A–Z a–z 0–9 _ -';

const OWN_FIELDS: Record<keyof JobFields, true> = {
  state: true,
  task_type: true,
  task_id: true,
  worker: true,
  claim_id: true,
  ended_by: true,
  parked_by: true,
  current_step: true,
  step_count: true,
  created_at: true,
  updated_at: true,
  timeout_at: true,
  run_at: true,
  priority: true,
  retry_count: true,
  max_retries: true,
  error: true,
  params_ref: true,
  result_ref: true,
  unannounced: true,
};

/** The states in which a job can be overdue for each reason. */
const OVERDUE_STATES: Record<OverdueReason, readonly JobState[]> = {
  'lease ended': JOB_MOVES.takeBack.from,
  'not updated': JOB_MOVES.takeBack.from,
  'not claimed': JOB_MOVES.signal.from,
  due: JOB_MOVES.release.from,
  'not announced': JOB_MOVES.announce.from,
};

const REASONS = Object.keys(OVERDUE_STATES) as OverdueReason[];

export function checkTaskType(value: unknown): string {
  if (typeof value === 'string' && WORD.test(value)) return value;
  throw invalidArgument('taskType', WORD_RULE, value ?? null);
}

export function checkClaimId(value: unknown): string {
  if (typeof value === 'string' && CLAIM_ID.test(value)) return value;
  throw invalidArgument('claimId', WORD_RULE, value ?? null);
}

export function checkJobRef(value: unknown, field = 'job'): JobRef {
  const given = checkObject(value, field);
  const ref = { taskType: checkTaskType(given.taskType), taskId: checkId(given.taskId, 'taskId') };
  if (Buffer.byteLength(jobKey(ref)) <= MAX_KEY_BYTES) return ref;
  const most = MAX_KEY_BYTES - Buffer.byteLength(`${JOB_PREFIX}${ref.taskType}.`);
  throw invalidArgument('taskId', `at most ${most} UTF-8 bytes for this type, so that its key fits`, ref.taskId);
}

/** Validates a new job and returns its fields and delay. */
export function checkNewJob(value: unknown, maxBytes: number) {
  const ref = checkJobRef(value);
  const job = value as NewJob;
  if (Object.hasOwn(job, 'ttl'))
    throw invalidArgument('ttl', 'given when the job ends: it may not vanish before (KV-9)');
  const fields = job.fields === undefined ? new Map() : encodeFields(job.fields, 'fields', maxBytes, { nulls: false });
  for (const field of fields.keys()) {
    if (Object.hasOwn(OWN_FIELDS, field)) {
      throw invalidArgument(`fields.${field}`, 'a name that jobs do not use themselves');
    }
  }
  const set = (field: string, value: string | number | undefined, name: string) => {
    if (value !== undefined) fields.set(field, encodeValue(value, name, maxBytes));
  };
  set('state', 'pending', 'state');
  set('task_type', ref.taskType, 'taskType');
  set('task_id', ref.taskId, 'taskId');
  set('priority', optionalInteger(job.priority, 'priority', -MAX_PRIORITY, MAX_PRIORITY), 'priority');
  set('step_count', optionalInteger(job.stepCount, 'stepCount', 0), 'stepCount');
  set('max_retries', optionalInteger(job.maxRetries, 'maxRetries', 0) ?? DEFAULT_RETRIES, 'maxRetries');
  set('params_ref', checkReference(job.paramsRef, 'paramsRef', maxBytes) ?? undefined, 'paramsRef');
  return { ref, fields, delayMs: checkDelay(job.delay) };
}

/** Returns the delay in milliseconds, `null` for none. */
export function checkDelay(value: NewJob['delay']): number | null {
  return value === undefined || value === 0 ? null : checkOptionalDuration(value, 'delay', 0);
}

export function checkClaim(value: unknown): JobRef & { claimId: string; leaseMs: number } {
  const ref = checkJobRef(value, 'claim');
  const { claimId, lease } = value as JobClaim;
  return { ...ref, claimId: checkClaimId(claimId), leaseMs: checkOptionalDuration(lease, 'lease', DEFAULT_LEASE_MS) };
}

export function checkStep(value: unknown): { currentStep: number; stepCount?: number } {
  const step = checkObject(value, 'step');
  const stepCount = optionalInteger(step.stepCount, 'stepCount', 0);
  return {
    currentStep: checkInteger(step.currentStep, 'currentStep', 0),
    ...(stepCount === undefined ? {} : { stepCount }),
  };
}

/** Returns a non-empty text that fits a field, or `null` when absent. */
export function checkReference(value: unknown, field: string, maxBytes: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string' || value === '') throw invalidArgument(field, 'a string that is not empty', value);
  encodeValue(value, field, maxBytes);
  return value;
}

/** Validates a result of `overdue`. The recovery is conditional on its revision and state. */
export function checkOverdue(value: unknown): OverdueJob {
  const { job, reason } = checkObject(value, 'overdue') as unknown as OverdueJob;
  checkJobRef(job, 'overdue.job');
  checkInteger(job.revision, 'overdue.job.revision', 1);
  checkOneOf(reason, 'overdue.reason', REASONS);
  // If the job has ended since, that is not the caller's mistake: `recover` returns `missed`.
  if (!isJobState(job.state) || !(isTerminal(job.state) || fitsReason(job.state, reason))) {
    const rule = `${OVERDUE_STATES[reason].join(' or ')} for a job that is overdue so`;
    throw invalidArgument('overdue.job.state', rule, job.state);
  }
  checkInteger(job.retryCount, 'overdue.job.retryCount', Number.MIN_SAFE_INTEGER);
  checkInteger(job.maxRetries, 'overdue.job.maxRetries', Number.MIN_SAFE_INTEGER);
  return { job, reason };
}

/** Whether a job of this state can be overdue for the reason. */
export function fitsReason(state: JobState, reason: OverdueReason): boolean {
  return OVERDUE_STATES[reason].includes(state);
}

/** Whether the reason means that a worker holds the job but has stopped updating it. */
export function isHeldReason(reason: OverdueReason): boolean {
  return reason === 'lease ended' || reason === 'not updated';
}

function optionalInteger(value: unknown, field: string, min: number, max?: number): number | undefined {
  return value === undefined ? undefined : checkInteger(value, field, min, max);
}

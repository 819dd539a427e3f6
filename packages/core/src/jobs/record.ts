/** Conversion between jobs and their records. */
import type { Job, JobRef, JobState } from '../contracts/jobs.ts';
import type { RecordName, StoredRecord } from '../engine/records.ts';
import { JOB_PREFIX, jobTypeOf } from '../tools/job-keys.ts';
import { textField } from '../tools/record-fields.ts';
import { countOf, priorityOf, timeOf } from './index-keys.ts';
import { isHeld, isJobState } from './states.ts';

/** How often a job may be retried by default. */
export const DEFAULT_RETRIES = 3;

export function jobKey({ taskType, taskId }: JobRef): string {
  return `${JOB_PREFIX}${taskType}.${taskId}`;
}

export function jobName(tenantId: string, job: JobRef): RecordName {
  return { space: 'kv', tenantId, key: jobKey(job) };
}

/** Returns the state in a job's record, or `null` when the record is not a job. */
export function stateOf(record: Pick<StoredRecord, 'fields'> | null | undefined): JobState | null {
  const state = record ? textField(record, 'state') : null;
  return isJobState(state) ? state : null;
}

/** Whether a claim holds the job. */
export function isHeldBy(record: StoredRecord, claimId: string): boolean {
  return isHeld(stateOf(record)) && textField(record, 'claim_id') === claimId;
}

/** Converts a record to a job, or `null` when it is not one: any KV client may have written to this key. */
export function jobOf(key: string, record: StoredRecord | null | undefined): Job | null {
  const [taskType, state] = [jobTypeOf(key), stateOf(record)];
  if (!record || taskType === null || state === null) return null;
  const { fields, revision } = record;
  const time = (field: string) => timeOf(fields, field) ?? undefined;
  const count = (field: string) => countOf(fields, field) ?? undefined;
  const text = (field: string) => textField(record, field) ?? undefined;
  const createdAt = time('created_at') ?? 0;
  return withoutAbsent({
    taskType,
    taskId: key.slice(JOB_PREFIX.length + taskType.length + 1),
    key,
    state,
    worker: text('worker'),
    currentStep: count('current_step'),
    stepCount: count('step_count'),
    createdAt,
    updatedAt: time('updated_at') ?? createdAt,
    timeoutAt: time('timeout_at'),
    runAt: time('run_at'),
    priority: priorityOf(fields),
    retryCount: count('retry_count') ?? 0,
    maxRetries: count('max_retries') ?? DEFAULT_RETRIES,
    error: text('error'),
    paramsRef: text('params_ref'),
    resultRef: text('result_ref'),
    revision,
  });
}

/** Returns the job without absent members. `Object.entries` would take five times as long. */
function withoutAbsent(job: Job): Job {
  const present: Partial<Record<keyof Job, unknown>> = {};
  let name: keyof Job;
  for (name in job) if (job[name] !== undefined) present[name] = job[name];
  return present as Job;
}

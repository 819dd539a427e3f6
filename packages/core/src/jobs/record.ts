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
  const createdAt = timeOf(fields, 'created_at') ?? 0;
  const job: MutableJob = { taskType, taskId: key.slice(JOB_PREFIX.length + taskType.length + 1), key, state };
  addText(job, 'worker', record, 'worker');
  addNumber(job, 'currentStep', countOf(fields, 'current_step'));
  addNumber(job, 'stepCount', countOf(fields, 'step_count'));
  job.createdAt = createdAt;
  job.updatedAt = timeOf(fields, 'updated_at') ?? createdAt;
  addNumber(job, 'timeoutAt', timeOf(fields, 'timeout_at'));
  addNumber(job, 'runAt', timeOf(fields, 'run_at'));
  job.priority = priorityOf(fields);
  job.retryCount = countOf(fields, 'retry_count') ?? 0;
  job.maxRetries = countOf(fields, 'max_retries') ?? DEFAULT_RETRIES;
  addText(job, 'error', record, 'error');
  addText(job, 'paramsRef', record, 'params_ref');
  addText(job, 'resultRef', record, 'result_ref');
  job.revision = revision;
  return job as Job;
}

/** A job while its members are added, in the order in which readers see them. */
type MutableJob = { -readonly [Member in keyof Job]?: Job[Member] };

function addText(
  job: MutableJob,
  member: 'worker' | 'error' | 'paramsRef' | 'resultRef',
  record: StoredRecord,
  field: string,
): void {
  const text = textField(record, field);
  if (text !== null) job[member] = text;
}

/** Absent members are left out. */
function addNumber(job: MutableJob, member: 'currentStep' | 'stepCount' | 'timeoutAt' | 'runAt', value: number | null) {
  if (value !== null) job[member] = value;
}

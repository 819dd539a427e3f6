/** Server requests of the job views. */
import type { Job, JobRef, ListedJobState, OverdueJob, Page, RecoveredJob } from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

/** The states in the order in which a job passes through them. */
export const LISTED_STATES: readonly ListedJobState[] = [
  'delayed',
  'pending',
  'claimed',
  'running',
  'failed',
  'completed',
  'cancelled',
];

export interface JobsWanted {
  state: ListedJobState;
  taskType?: string | undefined;
  limit: number;
  tenant: Tenant;
}

export function listJobs(wanted: JobsWanted, signal: AbortSignal): Promise<Page<Job>> {
  return ask('GET /v1/jobs', { query: { ...wanted }, signal });
}

export async function jobTypes(state: ListedJobState, tenant: Tenant, signal: AbortSignal): Promise<string[]> {
  return (await ask('GET /v1/job-types', { query: { state, tenant }, signal })).items;
}

export async function overdueJobs(
  taskType: string,
  threshold: string,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<OverdueJob[]> {
  const query = { taskType, threshold, tenant };
  return (await ask('GET /v1/jobs-overdue', { query, signal })).items;
}

export function getJob({ taskType, taskId }: JobRef, tenant: Tenant, signal: AbortSignal): Promise<Job> {
  return ask('GET /v1/jobs/{taskType}/{taskId}', { params: { taskType, taskId }, query: { tenant }, signal });
}

export function requeueJob({ taskType, taskId }: JobRef, requestId: string, tenant: Tenant): Promise<Job> {
  return ask('POST /v1/jobs/{taskType}/{taskId}/requeue', {
    params: { taskType, taskId },
    query: { tenant },
    body: { requestId },
  });
}

/** Recovers this job in the same way as a sweep, unless the job has changed since it was read. */
export function recoverJob(overdue: OverdueJob, requestId: string, tenant: Tenant): Promise<RecoveredJob> {
  return ask('POST /v1/job-recoveries', { query: { tenant }, body: { overdue, requestId } });
}

/** Safe to retry, because cancelling an ended job changes nothing. */
export function cancelJob({ taskType, taskId }: JobRef, tenant: Tenant): Promise<Job> {
  return ask('POST /v1/jobs/{taskType}/{taskId}/cancel', { params: { taskType, taskId }, query: { tenant }, body: {} });
}

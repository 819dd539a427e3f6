/** What the views of jobs ask the server. */
import type { Job, JobRef, ListedJobState, OverdueJob, Page, RecoveredJob } from '@tidemark/core/portable';
import { ask, resource } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

/** In the order a job goes through them. */
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
  return ask(resource('jobs'), { query: { ...wanted }, signal });
}

export async function jobTypes(state: ListedJobState, tenant: Tenant, signal: AbortSignal): Promise<string[]> {
  return (await ask<{ items: string[] }>(resource('job-types'), { query: { state, tenant }, signal })).items;
}

export async function overdueJobs(
  taskType: string,
  threshold: string,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<OverdueJob[]> {
  const query = { taskType, threshold, tenant };
  return (await ask<{ items: OverdueJob[] }>(resource('jobs-overdue'), { query, signal })).items;
}

export function getJob({ taskType, taskId }: JobRef, tenant: Tenant, signal: AbortSignal): Promise<Job> {
  return ask(resource('jobs', taskType, taskId), { query: { tenant }, signal });
}

export function requeueJob({ taskType, taskId }: JobRef, requestId: string, tenant: Tenant): Promise<Job> {
  const path = resource('jobs', taskType, taskId, 'requeue');
  return ask(path, { method: 'POST', query: { tenant }, body: { requestId } });
}

/** Does what a sweep does, to this job only, unless it has changed since it was seen. */
export function recoverJob(overdue: OverdueJob, requestId: string, tenant: Tenant): Promise<RecoveredJob> {
  return ask(resource('job-recoveries'), { method: 'POST', query: { tenant }, body: { overdue, requestId } });
}

/** Of a job that has ended nothing changes, so that it can be sent again. */
export function cancelJob({ taskType, taskId }: JobRef, tenant: Tenant): Promise<Job> {
  return ask(resource('jobs', taskType, taskId, 'cancel'), { method: 'POST', query: { tenant }, body: {} });
}

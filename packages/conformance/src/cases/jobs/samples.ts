/** Shorthands for cases of jobs. */
import type { ClaimedJob, Job, JobRef, JobStore, NewJob, OverdueJob } from '@tidemark/core';
import { expect } from '../../expect.ts';
import type { Bench } from '../../kit.ts';

export const TYPE = 'email-send';
/** Long enough for any engine under load, so that no lease expires by accident. */
export const LONG = '10m';
/** Short enough to wait for. */
export const SHORT = 60;

export const ref = (taskId: string, taskType = TYPE): JobRef => ({ taskType, taskId });

/** Returns the jobs of the bench's tenant as another client sees them. */
export async function peerJobs(bench: Bench): Promise<JobStore> {
  return (await bench.peer()).forTenant(bench.tenantId).jobs;
}

/** Enqueues a new job and returns it. */
export async function enqueued(bench: Bench, taskId: string, more: Partial<NewJob> = {}): Promise<Job> {
  const { job, created } = await bench.tenant.jobs.enqueue({ ...ref(taskId), ...more });
  expect(created, `job ${taskId} is new`);
  return job;
}

/** Enqueues a new job and returns a claim on it. */
export async function held(bench: Bench, taskId: string, more: Partial<NewJob> = {}, lease: number | string = LONG) {
  await enqueued(bench, taskId, more);
  return claimed(bench, taskId, lease);
}

/** Returns a claim on an existing job that is ready. */
export async function claimed(bench: Bench, taskId: string, lease: number | string = LONG): Promise<ClaimedJob> {
  const claim = await bench.tenant.jobs.claim(ref(taskId), { worker: 'ada', lease });
  expect(claim, `job ${taskId} can be claimed`);
  return claim;
}

/** Returns a claim that was lost to a sweep: its lease expired, and the job was sent back. */
export async function lapsed(bench: Bench, taskId: string, more: Partial<NewJob> = {}): Promise<ClaimedJob> {
  const claim = await held(bench, taskId, more, SHORT);
  await bench.pass(SHORT);
  await bench.tenant.jobs.recover(await overdueJob(bench, taskId));
  return claim;
}

/** Returns the overdue entry of a job. Fails when there is none. */
export async function overdueJob(bench: Bench, taskId: string, threshold: number | string = LONG): Promise<OverdueJob> {
  const found = (await bench.tenant.jobs.overdue(TYPE, { threshold })).find(({ job }) => job.taskId === taskId);
  expect(found, `a sweep finds job ${taskId}`);
  return found;
}

/** Returns the ids of overdue jobs, each with its reason. */
export async function overdueIds(bench: Bench, threshold: number | string): Promise<[string, string][]> {
  const found = await bench.tenant.jobs.overdue(TYPE, { threshold });
  return found.map(({ job, reason }): [string, string] => [job.taskId, reason]).sort();
}

/** Returns the job. Fails when it is missing. */
export async function seen(bench: Bench, taskId: string): Promise<Job> {
  const job = await bench.tenant.jobs.get(ref(taskId));
  expect(job, `job ${taskId} exists`);
  return job;
}

/** Returns the id of the next job of the type, or `null`. */
export async function nextId(jobs: JobStore, taskType = TYPE): Promise<string | null> {
  return (await jobs.claim({ taskType }, { worker: 'ada', lease: LONG }))?.taskId ?? null;
}

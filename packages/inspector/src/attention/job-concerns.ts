/** Jobs that need attention: held by an unresponsive worker, failed, not claimed, or being retried. */
import type { Job, ListedJobState, OverdueJob } from '@tidemark/core/portable';
import { jobTypes, listJobs, overdueJobs } from '../jobs/api.ts';
import { outlookOf } from '../jobs/outlook.ts';
import type { Tenant } from '../live/tenant.ts';
import { tidemarkLine } from '../parts/command-line.tsx';
import { durationText } from '../parts/durations.ts';
import { counted } from '../parts/numbers.ts';
import { hrefOf } from '../shell/router.ts';
import type { Concern } from './concern.ts';

/** How long a job may go without an update, or without a worker, before it is listed. */
const THRESHOLD = '5m';
const MOST = 200;
/** The maximum number of overdue jobs per type that the server returns. */
const MAX_OVERDUE = 100;
const UNFINISHED: readonly ListedJobState[] = ['pending', 'claimed', 'running'];

export interface JobConcerns {
  stuck: Concern[];
  dead: Concern[];
  untaken: Concern[];
  retried: Concern[];
}

export async function jobConcerns(tenant: Tenant, signal: AbortSignal): Promise<JobConcerns> {
  const list = async (state: ListedJobState) => (await listJobs({ state, limit: MOST, tenant }, signal)).items;
  const [failed, delayed, types] = await Promise.all([
    list('failed'),
    list('delayed'),
    Promise.all(UNFINISHED.map((state) => jobTypes(state, tenant, signal))),
  ]);
  const [overdue, unfinished] = await Promise.all([
    Promise.all([...new Set(types.flat())].map((type) => overdueJobs(type, THRESHOLD, tenant, signal))),
    Promise.all(UNFINISHED.map((state, at) => (types[at]!.length > 0 ? list(state) : []))),
  ]);
  const held = overdue.flat().filter(({ reason }) => reason === 'lease ended' || reason === 'not updated');
  const untaken = overdue.map((ofType) => ofType.filter(({ reason }) => reason === 'not claimed'));
  const known = new Set(held.map(({ job }) => job.key));
  const retried = [...unfinished.flat(), ...delayed].filter(({ key, retryCount }) => retryCount > 0 && !known.has(key));
  return {
    stuck: held.map((it) => stuckConcern(it, tenant)),
    dead: failed.map((job) => deadConcern(job, tenant)),
    untaken: untaken.filter((jobs) => jobs.length > 0).map((jobs) => untakenConcern(jobs, tenant)),
    retried: retried.map((job) => concernOf(job, tenant, 'quiet')),
  };
}

function stuckConcern(overdue: OverdueJob, tenant: Tenant): Concern {
  const command = tidemarkLine('sweep', [], tenant);
  return { ...concernOf(overdue.job, tenant, 'bad'), command, overdue: { overdue, tenant } };
}

function deadConcern(job: Job, tenant: Tenant): Concern {
  const command = tidemarkLine('jobs requeue', [nameOf(job)], tenant);
  return { ...concernOf(job, tenant, 'bad'), command, dead: { job, tenant } };
}

/** Returns one concern for all jobs of a queue without workers. */
function untakenConcern(overdue: readonly OverdueJob[], tenant: Tenant): Concern {
  const { taskType } = overdue[0]!.job;
  const oldest = Math.min(...overdue.map(({ job }) => job.updatedAt));
  const count = `${overdue.length >= MAX_OVERDUE ? 'at least ' : ''}${counted(overdue.length, 'job')}`;
  return {
    id: `untaken ${tenant} ${taskType}`,
    title: taskType,
    detail: [count, tenant].filter(Boolean).join(' · '),
    href: hrefOf(['jobs'], { tenant, type: taskType }),
    tone: 'warn',
    why: `No worker has claimed the oldest job for ${durationText(Math.max(0, Date.now() - oldest))}.`,
    next: `The next worker that asks for ${taskType} claims one, higher priorities first. Check that a worker is running.`,
    command: tidemarkLine('jobs list', [], tenant, { type: taskType, stuck: THRESHOLD }),
  };
}

function concernOf(job: Job, tenant: Tenant, tone: Concern['tone']): Concern {
  return {
    id: `job ${tenant} ${job.key}`,
    title: nameOf(job),
    detail: [job.state, tenant].filter(Boolean).join(' · '),
    href: hrefOf(['jobs'], { tenant, job: nameOf(job) }),
    tone,
    ...outlookOf(job, Date.now()),
    command: tidemarkLine('jobs show', [nameOf(job)], tenant),
  };
}

function nameOf({ taskType, taskId }: Job): string {
  return `${taskType}/${taskId}`;
}

/** Jobs: enqueue, claim, the calls of a worker that holds one, and what a sweeper needs. */
import type { ClaimOptions, Duration, JobRef, JobState, NewJob, OverdueJob } from '@tidemark/core';
import Type from 'typebox';
import { created, json, NOTHING } from '../http/answer.ts';
import { tagOf } from '../http/conditions.ts';
import { Refusal } from '../http/refusal.ts';
import { pageOf, pageQuery } from '../schemas/common.ts';
import {
  Cancel,
  Claimed,
  ClaimRequest,
  Complete,
  Enqueued,
  Fail,
  Heartbeat,
  Job,
  NewJob as NewJobSchema,
  OverdueJob as OverdueJobSchema,
  Progress,
  Recover,
  Recovered,
  Requeue,
} from '../schemas/jobs.ts';
import { type Call, route } from './route.ts';

type ListedState = JobState | 'delayed';
interface Hold {
  claimId: string;
  lease?: Duration;
}

const StateParameter = Type.String({ description: 'A state of jobs, or delayed' });
const HELD_PROBLEMS = ['CLAIM_LOST', 'OUTCOME_UNKNOWN'] as const;

function jobOf({ params }: Pick<Call, 'params'>): JobRef {
  return { taskType: params.taskType!, taskId: params.taskId! };
}

function claimOf(call: Pick<Call<unknown, Hold>, 'params' | 'body'>) {
  return { ...jobOf(call), claimId: call.body.claimId };
}

export const JOB_ROUTES = [
  route<unknown, NewJob>(
    {
      method: 'POST',
      path: '/v1/jobs',
      scope: 'jobs:write',
      summary: 'Enqueue a job; the same type and id again is the same job',
      body: NewJobSchema,
      storeChecksBody: true,
      answers: { 201: Enqueued, 200: Enqueued },
      problems: ['CONFLICT', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const enqueued = await store.jobs.enqueue(body, options);
      return created(enqueued.created, enqueued);
    },
  ),
  route<{ state: ListedState; taskType?: string; cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/jobs',
      scope: 'jobs:read',
      summary: 'Jobs of a state, the one untouched for longest first',
      query: pageQuery({ state: StateParameter, taskType: Type.Optional(Type.String()) }),
      answers: { 200: pageOf(Job) },
    },
    async ({ store, query, options }) => {
      const { state, taskType, cursor, limit } = query;
      return json(await store.jobs.list(state, { ...options, taskType, cursor, limit }));
    },
  ),
  route<{ state: ListedState }>(
    {
      method: 'GET',
      path: '/v1/job-types',
      scope: 'jobs:read',
      summary: 'Types that have a job in a state',
      query: Type.Object({ state: StateParameter }),
      answers: { 200: Type.Object({ items: Type.Array(Type.String()) }) },
    },
    async ({ store, query, options }) => json({ items: await store.jobs.types(query.state, options) }),
  ),
  route<{ taskType: string; threshold: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/jobs-overdue',
      scope: 'jobs:read',
      summary: 'Jobs of a type that need a push',
      query: Type.Object({
        taskType: Type.String(),
        threshold: Type.String({ description: 'Milliseconds, or a text such as 5m' }),
        limit: Type.Optional(Type.Integer()),
      }),
      answers: { 200: Type.Object({ items: Type.Array(OverdueJobSchema) }) },
    },
    async ({ store, query, options }) => {
      const { taskType, limit } = query;
      const threshold = /^-?\d+(\.\d+)?$/.test(query.threshold) ? Number(query.threshold) : query.threshold;
      return json({ items: await store.jobs.overdue(taskType, { ...options, threshold, limit }) });
    },
  ),
  route<unknown, ClaimOptions & { taskType: string; taskId?: string }>(
    {
      method: 'POST',
      path: '/v1/job-claims',
      scope: 'jobs:write',
      summary: 'Take a job, or the next of a type; null when there is none to take',
      body: ClaimRequest,
      answers: { 200: Claimed },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const { taskType, taskId, worker, lease, claimId } = body;
      const which = taskId === undefined ? { taskType } : { taskType, taskId };
      return json({ claim: await store.jobs.claim(which, { ...options, worker, lease, claimId }) });
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/jobs/{taskType}/{taskId}',
      scope: 'jobs:read',
      summary: 'A job',
      answers: { 200: Job },
      problems: ['NOT_FOUND'],
    },
    async (call) => {
      const job = await call.store.jobs.get(jobOf(call), call.options);
      if (job) return json(job, { etag: tagOf(job.revision) });
      throw new Refusal(404, 'NOT_FOUND', 'There is no such job');
    },
  ),
  route<unknown, Hold>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/heartbeat',
      scope: 'jobs:write',
      summary: 'A sign of life: the lease starts anew',
      body: Heartbeat,
      answers: { 200: Job },
      problems: HELD_PROBLEMS,
    },
    async (call) => {
      const { lease } = call.body;
      return json(await call.store.jobs.heartbeat(claimOf(call), { ...call.options, lease }));
    },
  ),
  route<unknown, Hold & { currentStep: number; stepCount?: number }>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/progress',
      scope: 'jobs:write',
      summary: 'The job is running and has reached a step',
      body: Progress,
      answers: { 200: Job },
      problems: HELD_PROBLEMS,
    },
    async (call) => {
      const { currentStep, stepCount, lease } = call.body;
      const step = { currentStep, stepCount };
      return json(await call.store.jobs.progress(claimOf(call), step, { ...call.options, lease }));
    },
  ),
  route<unknown, Hold & { resultRef?: string; ttl?: Duration }>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/complete',
      scope: 'jobs:write',
      summary: 'End a job well',
      body: Complete,
      answers: { 200: Job },
      problems: HELD_PROBLEMS,
    },
    async (call) => {
      const { resultRef, ttl } = call.body;
      return json(await call.store.jobs.complete(claimOf(call), { resultRef, ttl }, call.options));
    },
  ),
  route<unknown, Hold & { error: string; retry?: boolean; delay?: Duration; ttl?: Duration }>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/fail',
      scope: 'jobs:write',
      summary: 'Send a job back while it has retries left, else it has failed for good',
      body: Fail,
      answers: { 200: Job },
      problems: HELD_PROBLEMS,
    },
    async (call) => {
      const { error, retry, delay, ttl } = call.body;
      return json(await call.store.jobs.fail(claimOf(call), { error, retry, delay, ttl }, call.options));
    },
  ),
  route<unknown, { ttl?: Duration; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/cancel',
      scope: 'jobs:write',
      summary: 'End a job whoever holds it',
      body: Cancel,
      answers: { 200: Job },
      problems: ['NOT_FOUND', 'OUTCOME_UNKNOWN'],
    },
    async (call) => {
      const { ttl, requestId } = call.body;
      const job = await call.store.jobs.cancel(jobOf(call), { ...call.options, ttl, requestId });
      if (job) return json(job);
      throw new Refusal(404, 'NOT_FOUND', 'There is no such job');
    },
  ),
  route<unknown, { delay?: Duration; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/requeue',
      scope: 'jobs:write',
      summary: 'Bring a failed or cancelled job back to pending',
      body: Requeue,
      answers: { 200: Job },
      problems: ['CONFLICT', 'OUTCOME_UNKNOWN'],
    },
    async (call) => {
      const { delay, requestId } = call.body;
      return json(await call.store.jobs.requeue(jobOf(call), { ...call.options, delay, requestId }));
    },
  ),
  route<unknown, { overdue: OverdueJob; requestId?: string }>(
    {
      method: 'POST',
      path: '/v1/job-recoveries',
      scope: 'jobs:write',
      summary: 'Do what an overdue job needs, unless it has changed since it was seen',
      body: Recover,
      answers: { 200: Recovered },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      const { overdue, requestId } = body;
      return json(await store.jobs.recover(overdue, { ...options, requestId }));
    },
  ),
  route(
    {
      method: 'POST',
      path: '/v1/jobs/{taskType}/{taskId}/announced',
      scope: 'jobs:write',
      summary: 'The end of a job that a sweep failed has been told',
      answers: { 204: null },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async (call) => {
      await call.store.jobs.announced(jobOf(call), call.options);
      return NOTHING;
    },
  ),
];

/** Jobs: enqueue, claim, the calls of a worker that holds one, and what a sweeper needs. */
import type { ListedJobState } from '@tidemark/core/portable';
import Type from 'typebox';
import { pageOf, pageQuery, wordOf } from '../schemas/common.ts';
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
import { routes } from './route.ts';

const StateParameter = wordOf<ListedJobState>('A state of jobs, or delayed');

const HELD_PROBLEMS = ['CLAIM_LOST', 'OUTCOME_UNKNOWN'] as const;

export const JOB_ROUTES = routes({
  'POST /v1/jobs': {
    scope: 'jobs:write',
    summary: 'Enqueue a job; the same type and id again is the same job',
    body: NewJobSchema,
    storeChecksBody: true,
    answers: { 201: Enqueued, 200: Enqueued },
    problems: ['CONFLICT', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/jobs': {
    scope: 'jobs:read',
    summary: 'Jobs of a state, the one untouched for longest first',
    query: pageQuery({ state: StateParameter, taskType: Type.Optional(Type.String()) }),
    answers: { 200: pageOf(Job) },
  },
  'GET /v1/job-types': {
    scope: 'jobs:read',
    summary: 'Types that have a job in a state',
    query: Type.Object({ state: StateParameter }),
    answers: { 200: Type.Object({ items: Type.Array(Type.String()) }) },
  },
  'GET /v1/jobs-overdue': {
    scope: 'jobs:read',
    summary: 'Jobs of a type that need a push',
    query: Type.Object({
      taskType: Type.String(),
      threshold: Type.String({ description: 'Milliseconds, or a text such as 5m' }),
      limit: Type.Optional(Type.Integer()),
    }),
    answers: { 200: Type.Object({ items: Type.Array(OverdueJobSchema) }) },
  },
  'POST /v1/job-claims': {
    scope: 'jobs:write',
    summary: 'Take a job, or the next of a type; null when there is none to take',
    body: ClaimRequest,
    answers: { 200: Claimed },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'GET /v1/jobs/{taskType}/{taskId}': {
    scope: 'jobs:read',
    summary: 'A job',
    answers: { 200: Job },
    problems: ['NOT_FOUND'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/heartbeat': {
    scope: 'jobs:write',
    summary: 'A sign of life: the lease starts anew',
    body: Heartbeat,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/progress': {
    scope: 'jobs:write',
    summary: 'The job is running and has reached a step',
    body: Progress,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/complete': {
    scope: 'jobs:write',
    summary: 'End a job well',
    body: Complete,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/fail': {
    scope: 'jobs:write',
    summary: 'Send a job back while it has retries left, else it has failed for good',
    body: Fail,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/cancel': {
    scope: 'jobs:write',
    summary: 'End a job whoever holds it',
    body: Cancel,
    answers: { 200: Job },
    problems: ['NOT_FOUND', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/requeue': {
    scope: 'jobs:write',
    summary: 'Bring a failed or cancelled job back to pending',
    body: Requeue,
    answers: { 200: Job },
    problems: ['CONFLICT', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/job-recoveries': {
    scope: 'jobs:write',
    summary: 'Do what an overdue job needs, unless it has changed since it was seen',
    body: Recover,
    answers: { 200: Recovered },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/announced': {
    scope: 'jobs:write',
    summary: 'The end of a job that a sweep failed has been told',
    answers: { 204: null },
    problems: ['OUTCOME_UNKNOWN'],
  },
});

/** Job routes: enqueue, claim, the calls of workers that hold a job, and the calls of sweepers. */
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
  Park,
  Progress,
  Recover,
  Recovered,
  Requeue,
  Wake,
} from '../schemas/jobs.ts';
import { routes } from './route.ts';

const StateParameter = wordOf<ListedJobState>('A state of jobs, or delayed');

const HELD_PROBLEMS = ['CLAIM_LOST', 'OUTCOME_UNKNOWN'] as const;

export const JOB_ROUTES = routes({
  'POST /v1/jobs': {
    scope: 'jobs:write',
    summary: 'Enqueue a job; if one with this type and id exists, return it',
    body: NewJobSchema,
    storeChecksBody: true,
    answers: { 201: Enqueued, 200: Enqueued },
    problems: ['CONFLICT', 'STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/jobs': {
    scope: 'jobs:read',
    summary: 'List jobs in a state, least recently updated first',
    query: pageQuery({ state: StateParameter, taskType: Type.Optional(Type.String()) }),
    answers: { 200: pageOf(Job) },
  },
  'GET /v1/job-types': {
    scope: 'jobs:read',
    summary: 'List the types that have jobs in a state',
    query: Type.Object({ state: StateParameter }),
    answers: { 200: Type.Object({ items: Type.Array(Type.String()) }) },
  },
  'GET /v1/jobs-overdue': {
    scope: 'jobs:read',
    summary: 'List overdue jobs of a type',
    query: Type.Object({
      taskType: Type.String(),
      threshold: Type.String({ description: 'Milliseconds, or text such as 5m' }),
      limit: Type.Optional(Type.Integer()),
    }),
    answers: { 200: Type.Object({ items: Type.Array(OverdueJobSchema) }) },
  },
  'POST /v1/job-claims': {
    scope: 'jobs:write',
    summary: 'Claim a job, or the next job of a type; null if none can be claimed',
    body: ClaimRequest,
    answers: { 200: Claimed },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'GET /v1/jobs/{taskType}/{taskId}': {
    scope: 'jobs:read',
    summary: 'Get a job',
    answers: { 200: Job },
    problems: ['NOT_FOUND'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/heartbeat': {
    scope: 'jobs:write',
    summary: 'Renew the lease of a claimed job',
    body: Heartbeat,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/progress': {
    scope: 'jobs:write',
    summary: 'Report progress: mark the job as running and set its current step',
    body: Progress,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/complete': {
    scope: 'jobs:write',
    summary: 'Complete a job',
    body: Complete,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/fail': {
    scope: 'jobs:write',
    summary: 'Fail an attempt: the job is retried if it has retries left, otherwise it fails',
    body: Fail,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/park': {
    scope: 'jobs:write',
    summary: 'Return a claimed job to the queue until a given time, without counting a retry',
    body: Park,
    answers: { 200: Job },
    problems: HELD_PROBLEMS,
  },
  'POST /v1/jobs/{taskType}/{taskId}/wake': {
    scope: 'jobs:write',
    summary: 'Make a delayed job ready before its time; any other job is returned unchanged',
    body: Wake,
    answers: { 200: Job },
    problems: ['NOT_FOUND', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/cancel': {
    scope: 'jobs:write',
    summary: 'Cancel a job, even if a worker holds it',
    body: Cancel,
    answers: { 200: Job },
    problems: ['NOT_FOUND', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/requeue': {
    scope: 'jobs:write',
    summary: 'Return a failed or cancelled job to pending',
    body: Requeue,
    answers: { 200: Job },
    problems: ['CONFLICT', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/job-recoveries': {
    scope: 'jobs:write',
    summary: 'Recover an overdue job, unless it has changed since it was read',
    body: Recover,
    answers: { 200: Recovered },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'POST /v1/jobs/{taskType}/{taskId}/announced': {
    scope: 'jobs:write',
    summary: 'Record that the failure of a swept job was announced',
    answers: { 204: null },
    problems: ['OUTCOME_UNKNOWN'],
  },
});

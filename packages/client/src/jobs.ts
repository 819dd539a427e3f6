/** Jobs over HTTP. Claims and requests get their ids here, so that a call whose answer was lost can be sent again (GEN-8). */
import {
  type ClaimedJob,
  type ClaimOptions,
  checkDuration,
  checkId,
  checkLimit,
  checkObject,
  checkOptionalId,
  invalidArgument,
  type Job,
  type JobClaim,
  type JobRef,
  type JobStore,
  type OverdueJob,
  type Page,
  type RecoveredJob,
  type StoreLimits,
} from '@tidemark/core/portable';
import type { Transport } from './transport.ts';
import { uuid } from './uuid.ts';
import { bodyOf } from './wire/bodies.ts';
import { segmentOf } from './wire/segments.ts';
import { valueToWire } from './wire/values.ts';

const WORD = /^[A-Za-z0-9_-]{1,100}$/;
const WORD_RULE = '1 to 100 of A–Z a–z 0–9 _ -';

export function httpJobs(transport: Transport, { documentBytes, fieldBytes }: StoreLimits): JobStore {
  const pathOf = (job: unknown, name: string, verb = '') => {
    const { taskType, taskId } = checkObject(job, name);
    return `/v1/jobs/${checkTaskType(taskType)}/${segmentOf(taskId, 'taskId')}${verb}`;
  };
  const post = (path: string, members: object, write: unknown) =>
    ({ method: 'POST', path, body: bodyOf(members, documentBytes), write }) as const;

  const holding = (claim: JobClaim, verb: string) => {
    const path = pathOf(claim, 'claim', verb);
    const held = { claimId: checkWord(claim.claimId, 'claimId') };
    return { path, held, lease: optionalDuration(claim.lease, 'lease') };
  };

  return {
    async enqueue(job, options) {
      const it = checkObject(job, 'job');
      checkTaskType(it.taskType);
      checkId(it.taskId, 'taskId');
      if (it.fields !== undefined) checkFields(it.fields, fieldBytes);
      const request = post('/v1/jobs', job, { method: 'enqueue', job });
      return transport.call<{ job: Job; created: boolean }>(request, options);
    },

    async get(job, options) {
      return transport.find<Job>({ method: 'GET', path: pathOf(job, 'job') }, options);
    },

    async claim(which, options) {
      const { taskType, taskId } = checkObject(which, 'which') as Partial<JobRef>;
      const { worker, lease, claimId } = checkObject(options, 'options') as unknown as ClaimOptions;
      const by = {
        worker: checkId(worker, 'worker'),
        lease: optionalDuration(lease, 'lease'),
        claimId: claimId === undefined ? uuid() : checkWord(claimId, 'claimId'),
      };
      const wanted = {
        taskType: checkTaskType(taskType),
        ...(taskId === undefined ? {} : { taskId: checkId(taskId, 'taskId') }),
      };
      const request = post('/v1/job-claims', { ...wanted, ...by }, { method: 'claim', which: wanted, options: by });
      return (await transport.call<{ claim: ClaimedJob | null }>(request, options)).claim;
    },

    async heartbeat(claim, options) {
      const { path, held, lease: usual } = holding(claim, '/heartbeat');
      const lease = optionalDuration(options?.lease, 'lease') ?? usual;
      const write = { method: 'heartbeat', claim, options: { lease } };
      return transport.call<Job>(post(path, { ...held, lease }, write), options);
    },

    async progress(claim, step, options) {
      const { path, held, lease: usual } = holding(claim, '/progress');
      const { currentStep, stepCount } = checkObject(step, 'step');
      const lease = optionalDuration(options?.lease, 'lease') ?? usual;
      const write = { method: 'progress', claim, step, options: { lease } };
      return transport.call<Job>(post(path, { ...held, lease, currentStep, stepCount }, write), options);
    },

    async complete(claim, result, options) {
      const { path, held } = holding(claim, '/complete');
      const { resultRef, ttl } = checkObject(result ?? {}, 'result');
      const members = { ...held, resultRef, ttl: optionalDuration(ttl, 'ttl') };
      return transport.call<Job>(post(path, members, { method: 'complete', claim, result }), options);
    },

    async fail(claim, failure, options) {
      const { path, held } = holding(claim, '/fail');
      const { error, retry, delay, ttl } = checkObject(failure, 'failure');
      if (typeof error !== 'string') throw invalidArgument('error', 'a text', error ?? null);
      const members = { ...held, error, retry, delay, ttl: optionalDuration(ttl, 'ttl') };
      return transport.call<Job>(post(path, members, { method: 'fail', claim, failure }), options);
    },

    async cancel(job, options) {
      const members = { ttl: optionalDuration(options?.ttl, 'ttl'), requestId: requestIdOf(options) };
      const write = { method: 'cancel', job, options: members };
      return transport.find<Job>(post(pathOf(job, 'job', '/cancel'), members, write), options);
    },

    async requeue(job, options) {
      const path = pathOf(job, 'job', '/requeue');
      const members = { delay: options?.delay, requestId: requestIdOf(options) };
      return transport.call<Job>(post(path, members, { method: 'requeue', job, options: members }), options);
    },

    async list(state, options) {
      const limit = checkLimit(options?.limit, 100, 1_000);
      const taskType = options?.taskType === undefined ? undefined : checkTaskType(options.taskType);
      const query = { state, taskType, limit, cursor: options?.cursor };
      return transport.call<Page<Job>>({ method: 'GET', path: '/v1/jobs', query }, options);
    },

    async types(state, options) {
      const request = { method: 'GET', path: '/v1/job-types', query: { state } } as const;
      return (await transport.call<{ items: string[] }>(request, options)).items;
    },

    async overdue(taskType, options) {
      const { threshold, limit } = checkObject(options, 'options') as unknown as typeof options;
      const query = {
        taskType: checkTaskType(taskType),
        threshold: checkDuration(threshold, 'threshold'),
        limit: checkLimit(limit, 100, 1_000),
      };
      const request = { method: 'GET', path: '/v1/jobs-overdue', query } as const;
      return (await transport.call<{ items: OverdueJob[] }>(request, options)).items;
    },

    async recover(overdue, options) {
      checkObject(overdue, 'overdue');
      const members = { overdue, requestId: requestIdOf(options) };
      const write = { method: 'recover', overdue, options: { requestId: members.requestId } };
      return transport.call<RecoveredJob>(post('/v1/job-recoveries', members, write), options);
    },

    async announced(job, options) {
      const path = pathOf(job, 'job', '/announced');
      await transport.call({ method: 'POST', path, write: { method: 'announced', job } }, options);
    },
  };
}

function checkTaskType(value: unknown): string {
  return checkWord(value, 'taskType');
}

function checkWord(value: unknown, field: string): string {
  if (typeof value === 'string' && WORD.test(value)) return value;
  throw invalidArgument(field, WORD_RULE, value ?? null);
}

/** The fields of a job are values of records, which JSON carries as text, numbers and booleans only. */
function checkFields(fields: unknown, fieldBytes: number): void {
  for (const [name, value] of Object.entries(checkObject(fields, 'fields'))) {
    checkId(name, 'fields (field name)');
    valueToWire(value, `fields.${name}`, fieldBytes);
  }
}

function optionalDuration(value: unknown, field: string): number | undefined {
  return value === undefined ? undefined : checkDuration(value, field);
}

function requestIdOf(options: { requestId?: string } | undefined): string {
  return checkOptionalId(options?.requestId, 'requestId') ?? uuid();
}

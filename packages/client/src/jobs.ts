/**
 * Jobs over HTTP. The client creates claim ids and request ids, so that it can retry a call after a lost response
 * (GEN-8).
 */
import {
  type ClaimOptions,
  checkDuration,
  checkId,
  checkLimit,
  checkObject,
  checkOptionalId,
  checkParkTime,
  invalidArgument,
  type JobClaim,
  type JobRef,
  type JobStore,
  type StoreLimits,
  type StoreWrite,
} from '@tidemark/core/portable';
import { bodyOf, type RouteName, type Target, targetOf, valueToWire } from '@tidemark/wire';
import type { Transport } from './transport.ts';
import { uuid } from './uuid.ts';

type HeldVerb = 'heartbeat' | 'progress' | 'complete' | 'fail' | 'park';
type HeldRoute = `POST /v1/jobs/{taskType}/{taskId}/${HeldVerb}`;

const WORD = /^[A-Za-z0-9_-]{1,100}$/;
const WORD_RULE = '1 to 100 of A–Z a–z 0–9 _ -';

export function httpJobs(transport: Transport, { documentBytes, fieldBytes }: StoreLimits): JobStore {
  const refOf = (job: unknown, name: string) => {
    const { taskType, taskId } = checkObject(job, name);
    return { taskType: checkTaskType(taskType), taskId };
  };
  const post = <Name extends RouteName>(to: Target<Name>, members: object, write: StoreWrite | undefined) => ({
    ...to,
    body: bodyOf(members, documentBytes),
    write,
  });

  const holding = <Verb extends HeldVerb>(claim: JobClaim, verb: Verb) => {
    const to = targetOf<HeldRoute>(`POST /v1/jobs/{taskType}/{taskId}/${verb}`, refOf(claim, 'claim'));
    const held = { claimId: checkWord(claim.claimId, 'claimId') };
    return { to, held, lease: optionalDuration(claim.lease, 'lease') };
  };

  return {
    async enqueue(job, options) {
      const it = checkObject(job, 'job');
      checkTaskType(it.taskType);
      checkId(it.taskId, 'taskId');
      if (it.fields !== undefined) checkFields(it.fields, fieldBytes);
      const request = post(targetOf('POST /v1/jobs'), job, transport.writeOf('jobs', 'enqueue', [job, options]));
      return transport.call(request, options);
    },

    async get(job, options) {
      return transport.find(targetOf('GET /v1/jobs/{taskType}/{taskId}', refOf(job, 'job')), options);
    },

    async claim(which, options) {
      const { taskType, taskId } = checkObject(which, 'which') as Partial<JobRef>;
      const { worker, lease, claimId, takeExpired } = checkObject(options, 'options') as unknown as ClaimOptions;
      const by = {
        worker: checkId(worker, 'worker'),
        lease: optionalDuration(lease, 'lease'),
        claimId: claimId === undefined ? uuid() : checkWord(claimId, 'claimId'),
        takeExpired,
      };
      const wanted = {
        taskType: checkTaskType(taskType),
        ...(taskId === undefined ? {} : { taskId: checkId(taskId, 'taskId') }),
      };
      const request = post(
        targetOf('POST /v1/job-claims'),
        { ...wanted, ...by },
        transport.writeOf('jobs', 'claim', [wanted, by]),
      );
      return (await transport.call(request, options)).claim;
    },

    async heartbeat(claim, options) {
      const { to, held, lease: usual } = holding(claim, 'heartbeat');
      const lease = optionalDuration(options?.lease, 'lease') ?? usual;
      const write = transport.writeOf('jobs', 'heartbeat', [claim, options]);
      return transport.call(post(to, { ...held, lease }, write), options);
    },

    async progress(claim, step, options) {
      const { to, held, lease: usual } = holding(claim, 'progress');
      const { currentStep, stepCount } = checkObject(step, 'step');
      const lease = optionalDuration(options?.lease, 'lease') ?? usual;
      const write = transport.writeOf('jobs', 'progress', [claim, step, options]);
      return transport.call(post(to, { ...held, lease, currentStep, stepCount }, write), options);
    },

    async complete(claim, result, options) {
      const { to, held } = holding(claim, 'complete');
      const { resultRef, ttl } = checkObject(result ?? {}, 'result');
      const members = { ...held, resultRef, ttl: optionalDuration(ttl, 'ttl') };
      return transport.call(
        post(to, members, transport.writeOf('jobs', 'complete', [claim, result, options])),
        options,
      );
    },

    async fail(claim, failure, options) {
      const { to, held } = holding(claim, 'fail');
      const { error, retry, delay, ttl } = checkObject(failure, 'failure');
      if (typeof error !== 'string') throw invalidArgument('error', 'a string', error ?? null);
      const members = { ...held, error, retry, delay, ttl: optionalDuration(ttl, 'ttl') };
      return transport.call(post(to, members, transport.writeOf('jobs', 'fail', [claim, failure, options])), options);
    },

    async park(claim, when, options) {
      const { to, held } = holding(claim, 'park');
      checkParkTime(when);
      const { until, delay } = checkObject(when, 'when');
      const write = transport.writeOf('jobs', 'park', [claim, when, options]);
      return transport.call(post(to, { ...held, until, delay }, write), options);
    },

    async wake(job, options) {
      const to = targetOf('POST /v1/jobs/{taskType}/{taskId}/wake', refOf(job, 'job'));
      const members = { requestId: requestIdOf(options) };
      return transport.find(post(to, members, transport.writeOf('jobs', 'wake', [job, members])), options);
    },

    async cancel(job, options) {
      const members = { ttl: optionalDuration(options?.ttl, 'ttl'), requestId: requestIdOf(options) };
      const write = transport.writeOf('jobs', 'cancel', [job, members]);
      return transport.find(
        post(targetOf('POST /v1/jobs/{taskType}/{taskId}/cancel', refOf(job, 'job')), members, write),
        options,
      );
    },

    async requeue(job, options) {
      const to = targetOf('POST /v1/jobs/{taskType}/{taskId}/requeue', refOf(job, 'job'));
      const members = { delay: options?.delay, requestId: requestIdOf(options) };
      return transport.call(post(to, members, transport.writeOf('jobs', 'requeue', [job, members])), options);
    },

    async list(state, options) {
      const limit = checkLimit(options?.limit, 100, 1_000);
      const taskType = options?.taskType === undefined ? undefined : checkTaskType(options.taskType);
      const query = { state, taskType, limit, cursor: options?.cursor };
      return transport.call({ ...targetOf('GET /v1/jobs'), query }, options);
    },

    async types(state, options) {
      const request = { ...targetOf('GET /v1/job-types'), query: { state } };
      return (await transport.call(request, options)).items;
    },

    async overdue(taskType, options) {
      const { threshold, limit } = checkObject(options, 'options') as unknown as typeof options;
      const query = {
        taskType: checkTaskType(taskType),
        threshold: checkDuration(threshold, 'threshold'),
        limit: checkLimit(limit, 100, 1_000),
      };
      const request = { ...targetOf('GET /v1/jobs-overdue'), query };
      return (await transport.call(request, options)).items;
    },

    async recover(overdue, options) {
      checkObject(overdue, 'overdue');
      const members = { overdue, requestId: requestIdOf(options) };
      const write = transport.writeOf('jobs', 'recover', [overdue, { requestId: members.requestId }]);
      return transport.call(post(targetOf('POST /v1/job-recoveries'), members, write), options);
    },

    async markAnnounced(job, options) {
      const to = targetOf('POST /v1/jobs/{taskType}/{taskId}/announced', refOf(job, 'job'));
      await transport.call({ ...to, write: transport.writeOf('jobs', 'markAnnounced', [job, options]) }, options);
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

/** Checks the fields of a job. They are record values. As JSON, only texts, numbers and booleans can be sent. */
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

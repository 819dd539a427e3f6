/**
 * Jobs over HTTP. The client creates claim ids and request ids, so that it can retry a call after a lost response
 * (GEN-8).
 */
import { checkDuration, type JobStore } from '@tidemark/core/portable';
import { fieldsToWire } from '@tidemark/wire';
import { type Encode, type FormsOf, methodsOf } from './calls.ts';
import type { Transport } from './transport.ts';

/** The lease of the claim is checked even if the options replace it, as in a local store. */
const LEASE = { lease: checkDuration };

const FORMS = {
  enqueue: { route: 'POST /v1/jobs', takes: [['job', '*'], ['options?']], encode: { fields: checkedFields } },
  get: { route: 'GET /v1/jobs/{taskType}/{taskId}', takes: [['job', 'taskType', 'taskId'], ['options?']], finds: true },
  claim: {
    route: 'POST /v1/job-claims',
    takes: [
      ['which', 'taskType', 'taskId'],
      ['options', 'worker', 'lease', 'claimId', 'takeExpired'],
    ],
    mints: 'claimId',
    answer: 'claim',
  },
  heartbeat: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/heartbeat',
    takes: [
      ['claim', 'taskType', 'taskId', 'claimId', 'lease'],
      ['options?', 'lease'],
    ],
    encode: LEASE,
  },
  progress: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/progress',
    takes: [
      ['claim', 'taskType', 'taskId', 'claimId', 'lease'],
      ['step', 'currentStep', 'stepCount'],
      ['options?', 'lease'],
    ],
    encode: LEASE,
  },
  complete: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/complete',
    takes: [['claim', 'taskType', 'taskId', 'claimId', 'lease'], ['result?', 'resultRef', 'ttl'], ['options?']],
  },
  fail: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/fail',
    takes: [
      ['claim', 'taskType', 'taskId', 'claimId', 'lease'],
      ['failure', 'error', 'retry', 'delay', 'ttl'],
      ['options?'],
    ],
  },
  park: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/park',
    takes: [['claim', 'taskType', 'taskId', 'claimId', 'lease'], ['when', 'until', 'delay'], ['options?']],
  },
  wake: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/wake',
    takes: [
      ['job', 'taskType', 'taskId'],
      ['options?', 'requestId'],
    ],
    mints: 'requestId',
    finds: true,
  },
  cancel: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/cancel',
    takes: [
      ['job', 'taskType', 'taskId'],
      ['options?', 'ttl', 'requestId'],
    ],
    mints: 'requestId',
    finds: true,
  },
  requeue: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/requeue',
    takes: [
      ['job', 'taskType', 'taskId'],
      ['options?', 'delay', 'requestId'],
    ],
    mints: 'requestId',
  },
  list: { route: 'GET /v1/jobs', takes: ['state', ['options?', 'taskType', 'limit', 'cursor']] },
  types: { route: 'GET /v1/job-types', takes: ['state', ['options?']], answer: 'items' },
  overdue: { route: 'GET /v1/jobs-overdue', takes: ['taskType', ['options', 'threshold', 'limit']], answer: 'items' },
  recover: { route: 'POST /v1/job-recoveries', takes: ['overdue', ['options?', 'requestId']], mints: 'requestId' },
  markAnnounced: {
    route: 'POST /v1/jobs/{taskType}/{taskId}/announced',
    takes: [['job', 'taskType', 'taskId'], ['options?']],
  },
} as const satisfies FormsOf<'jobs'>;

export function httpJobs(transport: Transport): JobStore {
  return methodsOf(transport, 'jobs', FORMS);
}

/** The fields of a job are sent as JSON. JSON would lose values that no record can have. */
function checkedFields(...given: Parameters<Encode>): unknown {
  fieldsToWire(...given);
  return given[0];
}

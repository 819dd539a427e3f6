/** Wrong arguments are refused by name before anything is written (GEN-2). */
import type { JobStore, OverdueJob } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { INVALID_IDS } from '../poison.ts';
import { held, ref, seen, TYPE } from './samples.ts';

type Call = (jobs: JobStore) => Promise<unknown>;

const claim = { ...ref('job'), claimId: 'c' };

const WRONG: readonly [field: string, call: Call][] = [
  ...['', 'a b', 'a/b', 'a.b', 'ä', 't'.repeat(101), null, 7].map((taskType): [string, Call] => [
    'taskType',
    (jobs) => jobs.enqueue({ taskType, taskId: 'new' } as never),
  ]),
  ...INVALID_IDS.map(([, taskId]): [string, Call] => [
    'taskId',
    (jobs) => jobs.enqueue({ taskType: TYPE, taskId } as never),
  ]),
  ['taskId', (jobs) => jobs.enqueue({ taskType: 't'.repeat(100), taskId: 'x'.repeat(396) })],
  ['job', (jobs) => jobs.enqueue('new' as never)],
  ['priority', (jobs) => jobs.enqueue({ ...ref('new'), priority: 1001 })],
  ['priority', (jobs) => jobs.enqueue({ ...ref('new'), priority: 0.5 })],
  ['delay', (jobs) => jobs.enqueue({ ...ref('new'), delay: -1 })],
  ['delay', (jobs) => jobs.enqueue({ ...ref('new'), delay: 'soon' })],
  ['maxRetries', (jobs) => jobs.enqueue({ ...ref('new'), maxRetries: -1 })],
  ['stepCount', (jobs) => jobs.enqueue({ ...ref('new'), stepCount: 1.5 })],
  ['paramsRef', (jobs) => jobs.enqueue({ ...ref('new'), paramsRef: '' })],
  ['ttl', (jobs) => jobs.enqueue({ ...ref('new'), ttl: '1h' } as never)],
  ['fields.state', (jobs) => jobs.enqueue({ ...ref('new'), fields: { state: 'completed' } })],
  ['fields.claim_id', (jobs) => jobs.enqueue({ ...ref('new'), fields: { claim_id: 'c' } })],
  ['fields.x', (jobs) => jobs.enqueue({ ...ref('new'), fields: { x: Number.NaN } })],
  ['worker', (jobs) => jobs.claim(ref('job'), { worker: '' })],
  ['options', (jobs) => jobs.claim(ref('job'), undefined as never)],
  ['lease', (jobs) => jobs.claim(ref('job'), { worker: 'w', lease: 0 })],
  ['claimId', (jobs) => jobs.claim(ref('job'), { worker: 'w', claimId: 'a/b' })],
  ['taskType', (jobs) => jobs.claim({ taskType: '*' }, { worker: 'w' })],
  ['claimId', (jobs) => jobs.heartbeat({ ...ref('job') } as never)],
  ['lease', (jobs) => jobs.heartbeat(claim, { lease: '1y' })],
  ['currentStep', (jobs) => jobs.progress(claim, { currentStep: -1 })],
  ['stepCount', (jobs) => jobs.progress(claim, { currentStep: 1, stepCount: Number.NaN })],
  ['resultRef', (jobs) => jobs.complete(claim, { resultRef: 7 as never })],
  ['ttl', (jobs) => jobs.complete(claim, { ttl: 0 })],
  ['error', (jobs) => jobs.fail(claim, {} as never)],
  ['failure', (jobs) => jobs.fail(claim, undefined as never)],
  ['delay', (jobs) => jobs.fail(claim, { error: 'no', delay: 1.5 })],
  ['ttl', (jobs) => jobs.cancel(ref('job'), { ttl: 'never' })],
  ['requestId', (jobs) => jobs.requeue(ref('job'), { requestId: '' })],
  ['state', (jobs) => jobs.list('waiting' as never)],
  ['limit', (jobs) => jobs.list('pending', { limit: 0 })],
  ['cursor', (jobs) => jobs.list('pending', { cursor: 'x' })],
  ['state', (jobs) => jobs.types('ready' as never)],
  ['threshold', (jobs) => jobs.overdue(TYPE, {} as never)],
  ['limit', (jobs) => jobs.overdue(TYPE, { threshold: 1, limit: 1_001 })],
  ['overdue', (jobs) => jobs.recover(null as never)],
];

/** Arguments of calls and options that version 0.1 does not have. */
const WRONG_WAITS: readonly [field: string, call: Call][] = [
  ['when', (jobs) => jobs.park(claim, undefined as never)],
  ['until', (jobs) => jobs.park(claim, {} as never)],
  ['until', (jobs) => jobs.park(claim, { until: 1, delay: 1 })],
  ['until', (jobs) => jobs.park(claim, { until: 1.5 })],
  ['until', (jobs) => jobs.park(claim, { until: 1e15 })],
  ['delay', (jobs) => jobs.park(claim, { delay: 0 })],
  ['claimId', (jobs) => jobs.park({ ...ref('job') } as never, { delay: 1 })],
  ['taskType', (jobs) => jobs.wake({ taskType: '*', taskId: 'job' })],
  ['requestId', (jobs) => jobs.wake(ref('job'), { requestId: '' })],
  ['takeExpired', (jobs) => jobs.claim(ref('job'), { worker: 'w', takeExpired: 'yes' as never })],
];

/** Expects that every call is refused for its field. */
async function expectRefused(jobs: JobStore, wrong: readonly [field: string, call: Call][]): Promise<void> {
  for (const [field, call] of wrong) {
    const error = await expectCode('INVALID_ARGUMENT', `a wrong ${field} is refused`, () => call(jobs));
    expectEqual(error.field, field, 'the error names the field');
    expect(error.rule, `the error states the rule that ${field} broke`);
  }
}

export const ARGUMENT_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/wrong-arguments',
    title: 'an invalid argument is rejected with its field and the rule, and nothing is written',
    proves: ['GEN-2', 'KV-7'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      await held(bench, 'job');
      const before = await seen(bench, 'job');
      await expectRefused(jobs, WRONG);
      const known: OverdueJob = { job: before, reason: 'lease ended' };
      const state = await expectCode('INVALID_ARGUMENT', 'a held job is not due', () =>
        jobs.recover({ ...known, reason: 'due' }),
      );
      expectEqual(state.field, 'overdue.job.state', 'the error names the field');
      expectEqual(await seen(bench, 'job'), before, 'the job is unchanged');
      expectEqual((await kv.scanPage('gbe.state.tasks.')).items.length, 1, 'no other job was created');
    },
  }),
  jobsCase({
    id: 'jobs/wrong-waits',
    title: 'rejects an invalid park time, job to wake or option for expired leases, and writes nothing',
    proves: ['GEN-2', 'KV-7'],
    async run(bench) {
      const current = await held(bench, 'job');
      await expectRefused(bench.tenant.jobs, WRONG_WAITS);
      expectEqual(await seen(bench, 'job'), current.job, 'the job is unchanged');
    },
  }),
];

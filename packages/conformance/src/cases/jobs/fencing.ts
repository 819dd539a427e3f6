/** Fencing: the calls of a worker that lost its claim fail with CLAIM_LOST and change nothing (KV-7). */
import type { JobClaim, JobStore } from '@tidemark/core';
import { expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { claimed, held, LONG, lapsed, ref, seen } from './samples.ts';

const WORKER_CALLS: readonly [name: string, call: (jobs: JobStore, claim: JobClaim) => Promise<unknown>][] = [
  ['heartbeat', (jobs, claim) => jobs.heartbeat(claim)],
  ['progress', (jobs, claim) => jobs.progress(claim, { currentStep: 9 })],
  ['complete', (jobs, claim) => jobs.complete(claim, { resultRef: 'theirs', ttl: 1 })],
  ['fail', (jobs, claim) => jobs.fail(claim, { error: 'theirs', ttl: 1 })],
  ['failing for good', (jobs, claim) => jobs.fail(claim, { error: 'theirs', retry: false })],
];

/** Expects that every call of the worker that lost the job is refused and changes nothing. */
export async function expectFenced(bench: Bench, taskId: string, claim: JobClaim, because: string): Promise<void> {
  const before = await seen(bench, taskId);
  for (const [name, call] of WORKER_CALLS) {
    await expectCode('CLAIM_LOST', `${name} is refused: ${because}`, () => call(bench.tenant.jobs, claim));
    expectEqual(await seen(bench, taskId), before, `${name} changed nothing: ${because}`);
  }
}

export const FENCING_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/fenced-after-a-sweep',
    title: 'a worker whose lease expired and was swept gets CLAIM_LOST and changes nothing, even much later',
    proves: ['KV-7', 'KV-8'],
    async run(bench) {
      const zombie = await lapsed(bench, 'job');
      await expectFenced(bench, 'job', zombie, 'the job waits for another worker');
      const heir = await claimed(bench, 'job');
      await expectFenced(bench, 'job', zombie, 'another worker holds the job');
      await bench.tenant.jobs.progress(heir, { currentStep: 1 });
      await expectFenced(bench, 'job', zombie, 'another worker works on the job');
      await bench.tenant.jobs.complete(heir, { resultRef: 'mine' });
      await expectFenced(bench, 'job', zombie, 'another worker completed the job');
    },
  }),
  jobsCase({
    id: 'jobs/late-but-not-swept',
    title: 'a late worker keeps its job until a sweep takes it',
    proves: ['KV-7'],
    async run(bench) {
      const claim = await held(bench, 'job', {}, 20);
      await bench.pass(40);
      expectEqual(
        (await bench.tenant.jobs.complete(claim)).state,
        'completed',
        'no other worker could have started it',
      );
    },
  }),
  jobsCase({
    id: 'jobs/fenced-after-cancel',
    title: 'the worker of a cancelled job gets CLAIM_LOST, and the job stays cancelled',
    proves: ['KV-7'],
    async run(bench) {
      const claim = await held(bench, 'job');
      const job = await bench.tenant.jobs.cancel(ref('job'));
      expectEqual([job?.state, job?.timeoutAt], ['cancelled', undefined], 'a held job can be cancelled');
      await expectFenced(bench, 'job', claim, 'the job was cancelled');
      expectEqual(await bench.tenant.jobs.cancel(ref('job'), { ttl: 1 }), job, 'cancelling it again changes nothing');
      expectEqual(await bench.tenant.jobs.cancel(ref('missing')), null, 'a missing job cannot be cancelled');
    },
  }),
  jobsCase({
    id: 'jobs/made-up-claims',
    title: 'an invented claim id changes nothing',
    proves: ['KV-7'],
    async run(bench) {
      await held(bench, 'job');
      await expectFenced(bench, 'job', { ...ref('job'), claimId: bench.id('claim') }, 'the claim is made up');
      await expectCode('CLAIM_LOST', 'a claim on a missing job is lost', () =>
        bench.tenant.jobs.heartbeat({ ...ref('missing'), claimId: 'c' }),
      );
      expectEqual(await bench.tenant.jobs.get(ref('missing')), null, 'no job is created');
    },
  }),
  jobsCase({
    id: 'jobs/ended-is-final',
    title: 'a job that has ended cannot be changed, not even by its own worker',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const claim = await held(bench, 'done');
      const done = await jobs.complete(claim, { resultRef: 'r' });
      await expectCode('CLAIM_LOST', 'an ended job cannot be failed', () => jobs.fail(claim, { error: 'late' }));
      await expectCode('CLAIM_LOST', 'an ended job cannot progress', () => jobs.progress(claim, { currentStep: 2 }));
      await expectCode('CLAIM_LOST', 'an ended job takes no heartbeat', () => jobs.heartbeat(claim));
      expectEqual(await jobs.cancel(ref('done')), done, 'cancelling it changes nothing');
      await expectCode('CONFLICT', 'a completed job is not requeued', () => jobs.requeue(ref('done')));
      expectEqual(await seen(bench, 'done'), done, 'the job stays as it ended');
      const dead = await held(bench, 'dead', {}, LONG);
      await jobs.fail(dead, { error: 'no', retry: false });
      await expectCode('CLAIM_LOST', 'a failed job cannot be completed', () => jobs.complete(dead));
    },
  }),
];

/** Claiming: one winner, in one step, and the same claim on retry. */
import type { ClaimedJob, JobStore } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { readTexts } from '../kv/fields.ts';
import { claimed, enqueued, held, LONG, nextId, peerJobs, ref, seen, TYPE } from './samples.ts';

export const CLAIM_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/claim-is-one-step',
    title: 'a claim sets state, worker, claim id, updated_at and timeout_at together',
    proves: ['003 Worker claiming', 'KV-7'],
    async run(bench) {
      const { job } = { job: await enqueued(bench, 'job') };
      await bench.pass(2);
      const claim = await bench.tenant.jobs.claim(ref('job'), { worker: 'ada', lease: 90_000 });
      expect(claim, 'a ready job can be claimed');
      const record = await readTexts(bench.tenant, job.key);
      expectEqual(
        { state: record?.state, worker: record?.worker, claim: record?.claim_id },
        { state: 'claimed', worker: 'ada', claim: claim.claimId },
        'the record has worker and claim id',
      );
      expectEqual(claim.job.timeoutAt, claim.job.updatedAt + 90_000, 'the lease starts at the claim');
      expect(claim.job.updatedAt > job.updatedAt, 'the claim updates the job');
      expectEqual(claim.job, await seen(bench, 'job'), 'the claim returns the current job');
      const fallback = await held(bench, 'fallback');
      expect(fallback.claimId !== claim.claimId, 'every claim has its own id');
      const minute = (await bench.tenant.jobs.enqueue(ref('minute'))) && (await claimMinute(bench.tenant.jobs));
      expectEqual(minute, 60_000, 'the default lease is a minute');
    },
  }),
  jobsCase({
    id: 'jobs/one-claim-wins',
    title: 'of workers that claim the same job concurrently exactly one gets it',
    proves: ['003 Worker claiming', 'KV-7'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      for (const round of upTo(5)) {
        await enqueued(bench, `job-${round}`);
        const claims = await Promise.all(
          upTo(10).map((n) => clients[n % 2]!.claim(ref(`job-${round}`), { worker: `w${n}`, lease: LONG })),
        );
        const won = claims.filter((it) => it !== null);
        expectEqual(won.length, 1, 'exactly one claim wins');
        expectEqual((await seen(bench, `job-${round}`)).worker, won[0]!.job.worker, 'the winner holds the job');
      }
    },
  }),
  jobsCase({
    id: 'jobs/each-job-to-one-worker',
    title: 'workers that ask for the next job concurrently get all jobs, each once',
    proves: ['KV-7'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      await Promise.all(upTo(30).map((n) => enqueued(bench, `job-${n}`, { priority: n % 3 })));
      const claims = await Promise.all(
        upTo(40).map((n) => clients[n % 2]!.claim({ taskType: TYPE }, { worker: `w${n}`, lease: LONG })),
      );
      const ids = claims.flatMap((it) => it?.taskId ?? []);
      expectEqual(new Set(ids).size, ids.length, 'no job went to two workers');
      expectEqual(ids.length, 30, 'no worker got null while a job was left');
    },
  }),
  jobsCase({
    id: 'jobs/claim-sent-again',
    title: 'a claim retried with its claim id is the same claim, by key or by type',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      await Promise.all(upTo(3).map((n) => enqueued(bench, `job-${n}`, { priority: -n })));
      const options = { worker: 'ada', lease: LONG, claimId: bench.id('claim') };
      const first = await clients[0]!.claim({ taskType: TYPE }, options);
      expectEqual(first?.taskId, 'job-1', 'the first claim takes the first job');
      for (const jobs of clients) {
        expectEqual(await jobs.claim({ taskType: TYPE }, options), first, 'the retried claim is the same claim');
        expectEqual(await jobs.claim(ref('job-1'), options), first, 'also by the key of the job');
      }
      const other = await clients[1]!.claim({ taskType: TYPE }, { ...options, claimId: bench.id('claim') });
      expectEqual(other?.taskId, 'job-2', 'another claim takes another job');
    },
  }),
  jobsCase({
    id: 'jobs/claim-retried-after-the-end',
    title: 'a claim retried after its job has ended returns that job in its current state and claims no other',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      const [jobs] = clients as [JobStore];
      const endings: Record<string, (claim: ClaimedJob) => Promise<unknown>> = {
        completed: (claim) => jobs.complete(claim),
        failed: (claim) => jobs.fail(claim, { error: 'no', retry: false }),
        'sent back': (claim) => jobs.fail(claim, { error: 'again', delay: '1h' }),
        cancelled: (claim) => jobs.cancel(claim),
        'taken by another': async (claim) => {
          await jobs.fail(claim, { error: 'again' });
          await claimed(bench, claim.taskId);
        },
      };
      await enqueued(bench, 'spare', { priority: -1 });
      for (const [how, end] of Object.entries(endings)) {
        await enqueued(bench, how);
        const options = { worker: 'eve', lease: LONG, claimId: bench.id('claim') };
        const first = await jobs.claim({ taskType: TYPE }, options);
        expectEqual(first?.taskId, how, 'the claim takes the first job');
        await end(first!);
        const now = await seen(bench, how);
        for (const client of clients) {
          const retried = await client.claim({ taskType: TYPE }, options);
          expectEqual(
            [retried?.claimId, retried?.job],
            [options.claimId, now],
            `retried, it returns the job that is ${how}`,
          );
          expectEqual((await client.claim(ref(how), options))?.job, now, 'also by the key of the job');
        }
        expectEqual(await seen(bench, how), now, 'the job is unchanged');
      }
      expectEqual(await nextId(jobs), 'spare', 'no other job was taken');
    },
  }),
  jobsCase({
    id: 'jobs/claim-retried-at-once',
    title: 'concurrent retries of one claim take one job in total',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      await Promise.all(upTo(12).map((n) => enqueued(bench, `job-${n}`)));
      const claims = upTo(4).map(() => ({ worker: 'ada', lease: LONG, claimId: bench.id('claim') }));
      const answers = await Promise.all(
        claims.flatMap((options) => upTo(3).map((n) => clients[n % 2]!.claim({ taskType: TYPE }, options))),
      );
      const taken = Map.groupBy(answers, (it) => it?.claimId);
      for (const { claimId } of claims) {
        const ids = taken.get(claimId)?.map((it) => it!.taskId) ?? [];
        expectEqual([ids.length, new Set(ids).size], [3, 1], 'every retry returns the same job');
      }
      const { items } = await bench.tenant.jobs.list('pending', { taskType: TYPE });
      expectEqual(items.length, 8, 'each claim has taken one job');
    },
  }),
  jobsCase({
    id: 'jobs/nothing-to-claim',
    title: 'a job that is missing, held or ended cannot be claimed and stays unchanged',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const held = await enqueued(bench, 'held').then(() => claimed(bench, 'held'));
      for (const taskId of ['done', 'dead', 'stopped']) await enqueued(bench, taskId);
      await jobs.complete(await claimed(bench, 'done'));
      await jobs.fail(await claimed(bench, 'dead'), { error: 'no', retry: false });
      await jobs.cancel(ref('stopped'));
      for (const taskId of ['missing', 'held', 'done', 'dead', 'stopped']) {
        const before = await jobs.get(ref(taskId));
        expectEqual(await jobs.claim(ref(taskId), { worker: 'eve' }), null, `job ${taskId} is not claimed`);
        expectEqual(await jobs.get(ref(taskId)), before, `job ${taskId} is unchanged`);
      }
      expectEqual(await jobs.claim({ taskType: TYPE }, { worker: 'eve' }), null, 'no job is claimed by type');
      expectEqual((await jobs.heartbeat(held)).state, 'claimed', 'the holder is not affected');
    },
  }),
  jobsCase({
    id: 'jobs/signs-of-life',
    title: 'heartbeats and steps renew the lease, and steps are stored with their time',
    proves: ['003 Step completion', 'KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const claim = await held(bench, 'job', { stepCount: 2 }, 120_000);
      await bench.pass(3);
      const beat = await jobs.heartbeat(claim);
      expectEqual([beat.state, beat.timeoutAt! - beat.updatedAt], ['claimed', 120_000], 'a heartbeat renews the lease');
      expect(beat.timeoutAt! > claim.job.timeoutAt!, 'the lease starts at the heartbeat');
      await bench.pass(3);
      const step = await jobs.progress(claim, { currentStep: 1, stepCount: 5 }, { lease: 30_000 });
      expectEqual(
        [step.state, step.currentStep, step.stepCount, step.timeoutAt! - step.updatedAt],
        ['running', 1, 5, 30_000],
        'a step writes state, step and times together',
      );
      expect(step.updatedAt > beat.updatedAt, 'a step updates the job');
      expectEqual((await jobs.heartbeat(claim)).state, 'running', 'a heartbeat leaves the state alone');
      expectEqual((await jobs.progress(claim, { currentStep: 2 })).stepCount, 5, 'the count of steps stays');
    },
  }),
];

async function claimMinute(jobs: JobStore): Promise<number> {
  const claim = await jobs.claim(ref('minute'), { worker: 'ada' });
  return claim!.job.timeoutAt! - claim!.job.updatedAt;
}

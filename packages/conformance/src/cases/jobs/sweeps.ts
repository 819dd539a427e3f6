/** Sweeps (KV-8): overdue jobs are found through the index and recovered once. */
import type { JobClaim, OverdueReason } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { exactStopwatch } from '../stopwatch.ts';
import {
  claimed,
  enqueued,
  held,
  LONG,
  nextId,
  overdueIds,
  overdueJob,
  peerJobs,
  ref,
  SHORT,
  seen,
  TYPE,
} from './samples.ts';

/** Long enough for a slow machine to check before the end. */
const EDGE_MS = 300;

export const SWEEP_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/ended-leases-are-sent-back',
    title: 'a job whose lease expired returns to pending and is counted; when its retries are used up it fails',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'job', { maxRetries: 1 });
      await held(bench, 'healthy');
      for (const [retryCount, outcome] of [
        [1, 'requeued'],
        [1, 'failed'],
      ] as const) {
        const claim = await claimed(bench, 'job');
        expectEqual(await overdueIds(bench, LONG), [], 'a current lease is not overdue');
        await jobs.progress(claim, { currentStep: 1 }, { lease: SHORT });
        await bench.pass(SHORT);
        expectEqual(await overdueIds(bench, LONG), [['job', 'lease ended']], 'only the expired lease is overdue');
        const recovered = await jobs.recover(await overdueJob(bench, 'job'));
        expectEqual(
          [recovered.outcome, recovered.job.retryCount],
          [outcome, retryCount],
          'the job is pushed and counted',
        );
        expectEqual(recovered.job, await seen(bench, 'job'), 'the result has the current job');
      }
      const dead = await seen(bench, 'job');
      expectEqual(
        [dead.state, dead.timeoutAt],
        ['failed', undefined],
        'when its retries are used up the job has failed',
      );
      expect(dead.error?.includes('ada'), 'the error names the silent worker');
      expectEqual(await nextId(jobs), null, 'a failed job is not claimed again');
    },
  }),
  jobsCase({
    id: 'jobs/leased-to-the-millisecond',
    title: 'a lease is valid until its last millisecond and has expired from then on; the same applies to a delay',
    proves: ['KV-7', 'KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const isHeld = await exactStopwatch(bench, EDGE_MS);
      await held(bench, 'held', {}, EDGE_MS);
      await enqueued(bench, 'delayed', { delay: EDGE_MS });
      await bench.pass(EDGE_MS - 1);
      const [early, next] = [await overdueIds(bench, LONG), await nextId(jobs)];
      if (await isHeld()) expectEqual([early, next], [[], null], 'a millisecond before the end neither is over');
      await bench.pass(1);
      const over = (await overdueIds(bench, LONG)).map(([taskId]) => taskId);
      expect(over.includes('held'), 'at its end the lease is over');
      expectEqual(next ?? (await nextId(jobs)), 'delayed', 'the delayed job can be claimed');
    },
  }),
  jobsCase({
    id: 'jobs/overdue-by-threshold',
    title: 'exactly the held jobs not updated and the pending jobs not claimed for the threshold are overdue',
    proves: ['003 Sweeper scan', 'KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const quiet = await held(bench, 'quiet');
      const slow = await held(bench, 'slow');
      await jobs.progress(slow, { currentStep: 1 });
      await enqueued(bench, 'forgotten');
      await enqueued(bench, 'delayed', { delay: '1h' });
      await jobs.complete(await held(bench, 'done'));
      expectEqual(await overdueIds(bench, LONG), [], 'nothing is older than a long threshold');
      await bench.pass(SHORT);
      expectEqual(
        await overdueIds(bench, SHORT / 2),
        [
          ['forgotten', 'not claimed'],
          ['quiet', 'not updated'],
          ['slow', 'not updated'],
        ],
        'jobs older than the threshold are found with their reason',
      );
      await jobs.heartbeat(quiet);
      const recovered = await jobs.recover(await overdueJob(bench, 'slow', SHORT / 2));
      expectEqual(recovered.outcome, 'requeued', 'a job that is not updated is sent back');
      expectEqual((await overdueIds(bench, LONG)).length, 0, 'nothing is left for a long threshold');
      await expectCode('CLAIM_LOST', 'its worker is fenced', () => jobs.heartbeat(slow));
    },
  }),
  jobsCase({
    id: 'jobs/signalled-without-counting',
    title: 'recovering an unclaimed pending job only touches it: it keeps its position and its retries',
    proves: ['003 Sweeper scan', 'KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const before = await enqueued(bench, 'old');
      await bench.pass(SHORT);
      await enqueued(bench, 'new');
      const { outcome, job } = await jobs.recover(await overdueJob(bench, 'old', SHORT / 2));
      expectEqual(outcome, 'signalled', 'the job is touched');
      expect(job.updatedAt > before.updatedAt, 'updated_at is reset');
      expectEqual(
        { ...job, updatedAt: 0, revision: 0 },
        { ...before, updatedAt: 0, revision: 0 },
        'nothing else is changed',
      );
      expectEqual(await overdueIds(bench, LONG), [], 'it is not found again before the threshold');
      expectEqual([await nextId(jobs), await nextId(jobs)], ['old', 'new'], 'the job is still the oldest');
    },
  }),
  jobsCase({
    id: 'jobs/due-jobs-are-released',
    title: 'a sweep finds a delayed job that is due and makes it ready',
    proves: ['KV-8'],
    async run(bench) {
      await enqueued(bench, 'due', { delay: SHORT });
      await enqueued(bench, 'later', { delay: '1h' });
      await bench.pass(SHORT);
      expectEqual(await overdueIds(bench, LONG), [['due', 'due']], 'only the due job is found');
      const { outcome, job } = await bench.tenant.jobs.recover(await overdueJob(bench, 'due'));
      expectEqual([outcome, job.runAt, job.retryCount], ['released', undefined, 0], 'the job is no longer delayed');
      expectEqual((await bench.tenant.jobs.list('pending')).items, [job], 'the job is pending');
    },
  }),
  jobsCase({
    id: 'jobs/recovered-once',
    title:
      'of several sweepers that recover one job exactly one succeeds, and a retried recovery returns the same result',
    proves: ['KV-8', 'GEN-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      const [reasons, states] = [new Set<OverdueReason>(), new Set<string>()];
      await held(bench, 'held', {}, SHORT);
      await enqueued(bench, 'due', { delay: SHORT });
      await enqueued(bench, 'old');
      await bench.pass(SHORT);
      const found = await bench.tenant.jobs.overdue(TYPE, { threshold: SHORT / 2 });
      expectEqual(found.length, 3, 'three jobs are overdue');
      for (const overdue of found) {
        const requests = upTo(6).map((n) => ({ requestId: bench.id(`request-${n}`) }));
        const pushes = await Promise.all(requests.map((it, n) => clients[n % 2]!.recover(overdue, it)));
        const won = pushes.findIndex(({ outcome }) => outcome !== 'missed');
        expectEqual(pushes.filter(({ outcome }) => outcome !== 'missed').length, 1, 'one sweeper pushes it');
        expectEqual(
          await clients[1]!.recover(overdue, requests[won]),
          pushes[won]!,
          'the retried push returns the same result',
        );
        expectEqual((await clients[0]!.recover(overdue)).outcome, 'missed', 'a sweeper that comes late does nothing');
        reasons.add(overdue.reason);
        states.add((await seen(bench, overdue.job.taskId)).state);
      }
      expectEqual(
        [[...reasons].sort(), [...states]],
        [['due', 'lease ended', 'not claimed'], ['pending']],
        'all kinds of reasons are tested',
      );
      expectEqual((await seen(bench, 'held')).retryCount, 1, 'the retry was counted once');
    },
  }),
  jobsCase({
    id: 'jobs/changed-since-seen',
    title: 'a job is left alone if its heartbeat arrives after the sweep read it',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const claim = await held(bench, 'job', {}, SHORT);
      await bench.pass(SHORT);
      const overdue = await overdueJob(bench, 'job');
      const alive = await jobs.heartbeat(claim);
      expectEqual(await jobs.recover(overdue), { outcome: 'missed', job: alive }, 'the sweep misses the job');
      expectEqual((await jobs.complete(claim)).state, 'completed', 'the worker completes the job');
      await bench.tenant.kv.delete(claim.job.key);
      expectEqual((await jobs.recover(overdue)).outcome, 'missed', 'a deleted job is not recreated');
      expectEqual(await jobs.get(ref('job')), null, 'the job stays deleted');
    },
  }),
  jobsCase({
    id: 'jobs/renewed-leases-are-not-swept',
    title: 'a sweep concurrent with heartbeats does not touch any job whose heartbeat was acknowledged',
    proves: ['KV-7', 'KV-8'],
    async run(bench) {
      const [worker, sweeper] = [bench.tenant.jobs, await peerJobs(bench)];
      for (const round of upTo(5)) {
        const claims = await Promise.all(upTo(8).map((n) => held(bench, `job-${round}-${n}`, {}, SHORT)));
        await bench.pass(SHORT);
        const sweep = async () => {
          for (const overdue of await sweeper.overdue(TYPE, { threshold: LONG })) await sweeper.recover(overdue);
        };
        // Sent one after the other, so that some arrive between a sweep's read and its write.
        const beat = async (claim: JobClaim, turns: number) => {
          for (const _ of upTo(turns)) await new Promise(setImmediate);
          return worker.heartbeat(claim, { lease: LONG }).catch(() => null);
        };
        const [beats] = await Promise.all([Promise.all(claims.map(beat)), sweep(), sweep()]);
        for (const [at, claim] of claims.entries()) {
          if (beats[at] === null) continue;
          const { state } = await worker.complete(claim).catch(() => seen(bench, claim.taskId));
          expectEqual(state, 'completed', `${claim.taskId} is completed under the renewed lease`);
        }
      }
    },
  }),
  jobsCase({
    id: 'jobs/recovery-of-an-ended-job-is-missed',
    title: 'recovering a job that has ended returns missed, for every final state and reason',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await jobs.complete(await held(bench, 'done'));
      await jobs.fail(await held(bench, 'dead'), { error: 'no', retry: false });
      await enqueued(bench, 'stopped');
      await jobs.cancel(ref('stopped'));
      for (const taskId of ['done', 'dead', 'stopped']) {
        const job = await seen(bench, taskId);
        for (const reason of ['lease ended', 'not updated', 'not claimed', 'due'] as const) {
          expectEqual(await jobs.recover({ job, reason }), { outcome: 'missed', job }, `${taskId} is not ${reason}`);
        }
        expectEqual(await seen(bench, taskId), job, 'the job is unchanged');
      }
    },
  }),
  jobsCase({
    id: 'jobs/ended-jobs-never-eat-the-limit',
    title: 'a sweep finds overdue jobs among a thousand ended ones, up to its limit',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const endings = ['completed', 'failed', 'cancelled'];
      const ended = { task_type: TYPE, created_at: 1, updated_at: 1, timeout_at: 1 };
      for (let from = 0; from < 1_000; from += 100) {
        const puts = upTo(100).map((n) => `gbe.state.tasks.${TYPE}.a-${from + n}`);
        await Promise.all(puts.map((key, n) => kv.put(key, { ...ended, state: endings[n % 3]! })));
      }
      for (const n of upTo(3)) await held(bench, `stuck-${n}`, {}, SHORT);
      await bench.pass(SHORT);
      const stuck = await jobs.overdue(TYPE, { threshold: SHORT, limit: 3 });
      expectEqual(
        stuck.map(({ job }) => job.taskId).sort(),
        ['stuck-1', 'stuck-2', 'stuck-3'],
        'all stuck jobs are found',
      );
      expectEqual(
        (await jobs.overdue(TYPE, { threshold: SHORT, limit: 2 })).length,
        2,
        'no more than the limit are found',
      );
    },
  }),
  jobsCase({
    id: 'jobs/found-until-announced',
    title: 'a job that a sweep failed is found again until its failure is announced',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await held(bench, 'dead', { maxRetries: 0 }, 1);
      await bench.pass(5);
      expectEqual((await jobs.recover(await overdueJob(bench, 'dead'))).outcome, 'failed', 'a sweep fails it');
      await jobs.fail(await held(bench, 'own'), { error: 'no', retry: false });
      expectEqual(await overdueIds(bench, LONG), [], 'the sweeper that failed it may still announce it');
      await bench.pass(SHORT);
      expectEqual(
        await overdueIds(bench, SHORT / 2),
        [['dead', 'not announced']],
        'without an announcement a sweep finds it',
      );
      const { outcome, job } = await jobs.recover(await overdueJob(bench, 'dead', SHORT / 2));
      expectEqual([outcome, job.state], ['signalled', 'failed'], 'the job stays failed and is announced again');
      await jobs.markAnnounced(ref('dead'));
      await bench.pass(SHORT);
      expectEqual(await overdueIds(bench, SHORT / 2), [], 'once announced, the job is not found again');
    },
  }),
];

/** Claims with `takeExpired`: a claimer takes over a job whose lease has expired, under the rules of a sweep. */
import { type ClaimedJob, isTidemarkError, type Job, type JobStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { enqueued, held, LONG, overdueIds, peerJobs, ref, SHORT, seen, TYPE } from './samples.ts';

const EVE = { worker: 'eve', lease: LONG, takeExpired: true } as const;

/** Enqueues a job, claims it and lets the lease expire. Returns the late claim. */
async function expired(bench: Bench, taskId: string, more: Parameters<typeof held>[2] = {}): Promise<ClaimedJob> {
  const claim = await held(bench, taskId, more, SHORT);
  await bench.pass(SHORT);
  return claim;
}

function expectTakenOver(before: ClaimedJob, claim: ClaimedJob | null): void {
  expect(claim, `the expired job ${before.taskId} is taken`);
  const { job } = claim;
  expectEqual(
    [job.taskId, job.state, job.worker, job.retryCount, job.timeoutAt! - job.updatedAt],
    [before.taskId, 'claimed', 'eve', before.job.retryCount + 1, 600_000],
    'the job has the new holder and lease, and a retry is counted',
  );
  expect(claim.claimId !== before.claimId, 'the claim has its own id');
}

export const EXPIRED_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/claims-take-expired-leases',
    title:
      'a claim takes a job whose lease has expired only on request, counts a retry, and fails the job if no retries are left',
    proves: ['KV-7', 'KV-8', 'GEN-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const late = await expired(bench, 'late');
      const named = await expired(bench, 'named');
      await jobs.progress(named, { currentStep: 2 }, { lease: SHORT });
      const healthy = await held(bench, 'healthy');
      await bench.pass(SHORT);
      for (const which of [{ taskType: TYPE }, ref('late')])
        expectEqual(await jobs.claim(which, { worker: 'eve' }), null, 'by default an expired lease is left to a sweep');
      const byName = await jobs.claim(ref('named'), EVE);
      expectTakenOver(named, byName);
      expectEqual(byName?.job.currentStep, 2, 'the step is kept, as by a sweep');
      await enqueued(bench, 'ready');
      expectEqual((await jobs.claim({ taskType: TYPE }, EVE))?.taskId, 'ready', 'a ready job is claimed first');
      expectTakenOver(late, await jobs.claim({ taskType: TYPE }, EVE));
      for (const zombie of [late, named]) {
        const before = await seen(bench, zombie.taskId);
        await expectCode('CLAIM_LOST', 'the late worker is fenced', () => jobs.heartbeat(zombie));
        await expectCode('CLAIM_LOST', 'the late worker cannot complete it', () => jobs.complete(zombie));
        expectEqual(await seen(bench, zombie.taskId), before, 'the late worker changes nothing');
      }
      for (const which of [{ taskType: TYPE }, ref('healthy'), ref('missing')])
        expectEqual(await jobs.claim(which, EVE), null, 'a current lease is not taken');
      expectEqual(await seen(bench, 'healthy'), healthy.job, 'its job is unchanged');

      const renewed = await expired(bench, 'renewed');
      await jobs.heartbeat(renewed, { lease: LONG });
      for (const which of [{ taskType: TYPE }, ref('renewed')])
        expectEqual(await jobs.claim(which, EVE), null, 'a lease that was renewed late is not taken');

      for (const [taskId, which] of [
        ['by-type', { taskType: TYPE }],
        ['by-name', ref('by-name')],
      ] as const) {
        const again = await expired(bench, taskId);
        const options = { ...EVE, claimId: bench.id('claim') };
        const first = await jobs.claim(which, options);
        expectTakenOver(again, first);
        for (const client of [jobs, await peerJobs(bench)])
          expectEqual(await client.claim(which, options), first, `retried ${taskId}, it is the same claim`);
      }

      for (const [taskId, which] of [
        ['dead-by-type', { taskType: TYPE }],
        ['dead-by-name', ref('dead-by-name')],
      ] as const) {
        await expired(bench, taskId, { maxRetries: 0 });
        expectEqual(await jobs.claim(which, EVE), null, 'a job without retries left is not taken');
        const dead = await seen(bench, taskId);
        expectEqual([dead.state, dead.retryCount, dead.timeoutAt], ['failed', 0, undefined], 'the job has failed');
        expect(dead.error?.includes('ada'), 'the error names the silent worker');
      }
      await bench.pass(SHORT);
      const unannounced = (await overdueIds(bench, SHORT / 2)).filter(([, reason]) => reason === 'not announced');
      expectEqual(
        unannounced.map(([taskId]) => taskId),
        ['dead-by-name', 'dead-by-type'],
        'sweeps find the failed jobs until their end is announced',
      );
    },
  }),
  jobsCase({
    id: 'jobs/expired-claim-retried-at-once',
    title: 'concurrent retries of one claim take one expired job in total and count one retry',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      await Promise.all(upTo(8).map((n) => held(bench, `job-${n}`, {}, SHORT)));
      await bench.pass(SHORT);
      const claims = upTo(3).map(() => ({ ...EVE, claimId: bench.id('claim') }));
      const answers = await Promise.all(
        claims.flatMap((options) => upTo(3).map((n) => clients[n % 2]!.claim({ taskType: TYPE }, options))),
      );
      const taken = Map.groupBy(answers, (it) => it?.claimId);
      for (const { claimId } of claims) {
        const ids = taken.get(claimId)?.map((it) => it!.taskId) ?? [];
        expectEqual([ids.length, new Set(ids).size], [3, 1], 'every retry returns the same job');
        expectEqual((await seen(bench, ids[0]!)).retryCount, 1, 'one retry is counted');
      }
      const { items } = await bench.tenant.jobs.list('claimed', { taskType: TYPE });
      expectEqual(items.filter(({ worker }) => worker === 'eve').length, 3, 'each claim has taken one job');
    },
  }),
  jobsCase({
    id: 'jobs/expired-lease-is-taken-once',
    title: 'of several claimers, a sweep and a late heartbeat one wins an expired job, and a retry is counted once',
    proves: ['KV-7', 'KV-8'],
    async run(bench) {
      const clients = [bench.tenant.jobs, await peerJobs(bench)];
      const abandoned = await Promise.all(upTo(6).map((n) => held(bench, `abandoned-${n}`, {}, SHORT)));
      await bench.pass(SHORT);
      const taken = (await claimAtOnce(clients, abandoned)).map(({ taskId }) => taskId).sort();
      expectEqual(taken, abandoned.map(({ taskId }) => taskId).sort(), 'claimers alone take every job once');
      for (const round of upTo(4)) {
        const late = await Promise.all(upTo(6).map((n) => held(bench, `job-${round}-${n}`, {}, SHORT)));
        await bench.pass(SHORT);
        const [claims, beats] = await Promise.all([
          claimAtOnce(clients, late),
          Promise.all(late.map((claim, n) => beat(clients[0]!, claim, n))),
          sweep(clients[1]!),
        ]);
        for (const [at, { taskId }] of late.entries()) {
          const job = await seen(bench, taskId);
          const won = claims.filter((it) => it.taskId === taskId);
          const holders = [...won.map((it) => it.job.worker), ...(beats[at] ? ['ada'] : [])];
          expect(holders.length <= 1, `${taskId} has at most one holder, not ${holders.join(' and ')}`);
          expectEqual(
            [job.worker, job.retryCount],
            [holders[0], beats[at] ? 0 : 1],
            `${taskId} has the holder that won, and one retry unless its own worker kept it`,
          );
          if (won[0]) expectEqual((await clients[0]!.complete(won[0])).state, 'completed', 'the winner completes it');
        }
        for (const { taskId } of late) await clients[0]!.cancel(ref(taskId));
      }
    },
  }),
];

/** Makes as many claims by name as by type, from all clients at once. Returns the claims that succeeded. */
async function claimAtOnce(clients: readonly JobStore[], late: readonly ClaimedJob[]): Promise<ClaimedJob[]> {
  const claims = late.flatMap(({ taskId }, at) =>
    clients.flatMap((jobs, n) => [
      jobs.claim(ref(taskId), { ...EVE, worker: `name-${at}-${n}` }),
      jobs.claim({ taskType: TYPE }, { ...EVE, worker: `type-${at}-${n}` }),
    ]),
  );
  return (await Promise.all(claims)).filter((it) => it !== null);
}

/** Renews a lease late, after some turns of the event loop. Returns `null` when the claim was lost. */
async function beat(jobs: JobStore, claim: ClaimedJob, turns: number): Promise<Job | null> {
  for (const _ of upTo(turns)) await new Promise(setImmediate);
  try {
    return await jobs.heartbeat(claim, { lease: LONG });
  } catch (error) {
    if (isTidemarkError(error, 'CLAIM_LOST')) return null;
    throw error;
  }
}

async function sweep(jobs: JobStore): Promise<void> {
  for (const overdue of await jobs.overdue(TYPE, { threshold: LONG })) await jobs.recover(overdue);
}

/** Jobs that wait: a worker parks its job until a given time, and any client can wake a delayed job early. */
import { expectCode, expectEqual, expectNewRevision } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { expectFenced } from './fencing.ts';
import { claimed, enqueued, held, LONG, lapsed, nextId, peerJobs, ref, SHORT, seen } from './samples.ts';

const HOUR_MS = 3_600_000;

export const WAITING_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/parked-without-counting',
    title: 'a parked job waits until its time with its retries, error and step unchanged, and parking can be retried',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await jobs.fail(await held(bench, 'job', { maxRetries: 1, stepCount: 3 }), { error: 'once' });
      const claim = await claimed(bench, 'job');
      await jobs.progress(claim, { currentStep: 2 });
      const parked = await jobs.park(claim, { delay: '1h' });
      expectEqual(
        [parked.state, parked.retryCount, parked.error, parked.currentStep, parked.worker, parked.timeoutAt],
        ['pending', 1, 'once', 2, undefined, undefined],
        'the job has no holder and is otherwise unchanged',
      );
      expectEqual(parked.runAt! - parked.updatedAt, HOUR_MS, 'the delay starts when the job is parked');
      expectEqual((await jobs.list('delayed')).items, [parked], 'the job is listed as delayed');
      expectEqual((await jobs.list('pending')).items, [], 'the job is not listed as pending');
      expectEqual(await nextId(jobs), null, 'the job is not claimed before its time');
      for (const client of [jobs, await peerJobs(bench)])
        expectEqual(await client.park(claim, { delay: '1h' }), parked, 'the retried call returns the same result');
      const brief = await held(bench, 'brief', { maxRetries: 0 });
      const until = brief.job.updatedAt + SHORT;
      expectEqual((await jobs.park(brief, { until })).runAt, until, 'a job is parked until a given time');
      await bench.pass(SHORT);
      for (const _ of upTo(4)) {
        const again = await claimed(bench, 'brief');
        expectEqual((await jobs.park(again, { until })).retryCount, 0, 'parking is never counted');
      }
      const last = await claimed(bench, 'brief');
      const now = await seen(bench, 'brief');
      expectEqual(await jobs.park(claim, { delay: '1h' }), parked, 'another job is not affected');
      const { revision } = await jobs.complete(last);
      expectNewRevision(bench.store, revision, now.revision, 'a job parked until the past can be done');
    },
  }),
  jobsCase({
    id: 'jobs/parked-is-fenced',
    title: 'parking needs the current claim and ends it',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const zombie = await lapsed(bench, 'swept');
      const before = await seen(bench, 'swept');
      for (const claim of [zombie, { ...ref('swept'), claimId: bench.id('claim') }])
        await expectCode('CLAIM_LOST', 'a lost or made-up claim parks nothing', () =>
          jobs.park(claim, { delay: '1h' }),
        );
      expectEqual(await seen(bench, 'swept'), before, 'the job stays ready');
      const stopped = await held(bench, 'stopped');
      const cancelled = await jobs.cancel(ref('stopped'));
      await expectCode('CLAIM_LOST', 'a cancelled job is not parked', () => jobs.park(stopped, { delay: '1h' }));
      expectEqual(await seen(bench, 'stopped'), cancelled!, 'the job stays cancelled');
      const parked = await held(bench, 'job');
      await jobs.park(parked, { until: 1 });
      await expectFenced(bench, 'job', parked, 'the job is parked');
      const heir = await claimed(bench, 'job');
      await expectFenced(bench, 'job', parked, 'another worker holds the job');
      const taken = await seen(bench, 'job');
      expectEqual(await jobs.park(parked, { until: 1 }), taken, 'retried, parking returns the job as it is');
      expectEqual(await seen(bench, 'job'), taken, 'the new holder keeps the job');
      await jobs.complete(heir);
      await expectCode('CLAIM_LOST', 'a completed job is not parked', () => jobs.park(heir, { delay: '1h' }));
      const failed = await held(bench, 'failed');
      const sentBack = await jobs.fail(failed, { error: 'no' });
      await expectCode('CLAIM_LOST', 'a job sent back is not parked', () => jobs.park(failed, { delay: '1h' }));
      expectEqual(await seen(bench, 'failed'), sentBack, 'the job stays ready');
    },
  }),
  jobsCase({
    id: 'jobs/woken-early',
    title: 'waking makes a delayed or parked job ready at once, once per request, and changes no other job',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'delayed', { delay: '1h' });
      await jobs.park(await held(bench, 'parked', { maxRetries: 0 }), { delay: '1h' });
      for (const taskId of ['delayed', 'parked']) {
        const woken = await jobs.wake(ref(taskId));
        expectEqual([woken?.state, woken?.runAt, woken?.retryCount], ['pending', undefined, 0], `${taskId} is ready`);
        expectEqual(woken, await seen(bench, taskId), 'the call returns the current job');
        expectEqual(await nextId(jobs), taskId, `${taskId} can be claimed`);
      }
      expectEqual((await jobs.list('delayed')).items, [], 'nothing is delayed any longer');

      const again = await held(bench, 'again');
      await jobs.park(again, { delay: '1h' });
      const request = { requestId: bench.id('request') };
      await jobs.wake(ref('again'), request);
      const reparked = await jobs.park(await claimed(bench, 'again'), { delay: '1h' });
      for (const client of [jobs, await peerJobs(bench)])
        expectEqual(await client.wake(ref('again'), request), reparked, 'the retried call does not wake it again');
      expectEqual((await jobs.wake(ref('again')))?.runAt, undefined, 'another call does');

      const running = await held(bench, 'running');
      await jobs.progress(running, { currentStep: 1 });
      await held(bench, 'claimed');
      await jobs.complete(await held(bench, 'completed'));
      await jobs.fail(await held(bench, 'failed'), { error: 'no', retry: false });
      await enqueued(bench, 'cancelled', { delay: LONG }).then(() => jobs.cancel(ref('cancelled')));
      await enqueued(bench, 'pending');
      for (const taskId of ['running', 'claimed', 'completed', 'failed', 'cancelled', 'pending']) {
        const before = await seen(bench, taskId);
        expectEqual([before.state, await jobs.wake(ref(taskId))], [taskId, before], `a ${taskId} job is returned`);
        expectEqual(await seen(bench, taskId), before, `a ${taskId} job is unchanged`);
      }
      expectEqual((await jobs.heartbeat(running)).state, 'running', 'the holder is not affected');
      expectEqual(await jobs.wake(ref('missing')), null, 'there is no such job');
    },
  }),
];

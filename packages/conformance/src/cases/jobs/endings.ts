/** Endings of jobs: completed, sent back or failed permanently; a retried call returns the same result. */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { readTexts } from '../kv/fields.ts';
import { claimed, enqueued, held, nextId, peerJobs, ref, SHORT, seen, TYPE } from './samples.ts';

export const ENDING_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/complete-clears-the-lease',
    title: 'completing a job stores its result and clears its timeout in one step; it can be retried',
    proves: ['003 Job completion', 'KV-7', 'GEN-8'],
    async run(bench) {
      const claim = await held(bench, 'job');
      const done = await bench.tenant.jobs.complete(claim, { resultRef: 's3://out' });
      expectEqual(
        [done.state, done.resultRef, done.timeoutAt],
        ['completed', 's3://out', undefined],
        'the job is completed',
      );
      const record = await readTexts(bench.tenant, done.key);
      expectEqual([record?.timeout_at, record?.claim_id], [undefined, undefined], 'the job has no holder');
      for (const jobs of [bench.tenant.jobs, await peerJobs(bench)]) {
        const again = await jobs.complete(claim, { resultRef: 's3://out' });
        expectEqual(again, done, 'the retried call returns the same result');
      }
      expectEqual(await nextId(bench.tenant.jobs), null, 'a completed job is not claimed again');
    },
  }),
  jobsCase({
    id: 'jobs/failing-sends-back',
    title: 'a failed job is requeued and counted until its retries are used up; then it stays failed',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'job', { maxRetries: 2 });
      for (const retryCount of [1, 2]) {
        const claim = await claimed(bench, 'job');
        const back = await jobs.fail(claim, { error: `attempt ${retryCount}` });
        expectEqual(
          [back.state, back.retryCount, back.error, back.worker, back.timeoutAt],
          ['pending', retryCount, `attempt ${retryCount}`, undefined, undefined],
          'the job waits for the next worker and carries the error',
        );
        expectEqual(
          await jobs.fail(claim, { error: `attempt ${retryCount}` }),
          back,
          'the retried failure counts once',
        );
        await expectCode('CLAIM_LOST', 'the claim has ended', () => jobs.complete(claim));
      }
      const last = await claimed(bench, 'job');
      const dead = await jobs.fail(last, { error: 'attempt 3' });
      expectEqual([dead.state, dead.retryCount, dead.error], ['failed', 2, 'attempt 3'], 'the job has failed');
      expectEqual(await jobs.fail(last, { error: 'attempt 3' }), dead, 'the retried call returns the same result');
      expectEqual(await nextId(jobs), null, 'a failed job is not claimed again');
      const once = await jobs.fail(await held(bench, 'hopeless'), { error: 'no use', retry: false });
      expectEqual([once.state, once.retryCount], ['failed', 0], 'without a retry it fails immediately');
    },
  }),
  jobsCase({
    id: 'jobs/failing-late-answer',
    title: 'a failure retried after another worker took the job returns the job and changes nothing',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const first = await held(bench, 'job');
      await jobs.fail(first, { error: 'once' });
      const heir = await claimed(bench, 'job');
      const before = await seen(bench, 'job');
      expectEqual(await jobs.fail(first, { error: 'once' }), before, 'the retried failure returns the current job');
      expectEqual(await seen(bench, 'job'), before, 'the retried failure changes nothing');
      expectEqual((await jobs.complete(heir)).retryCount, 1, 'the new holder continues');
    },
  }),
  jobsCase({
    id: 'jobs/failing-with-a-delay',
    title: 'a failed job may wait for a delay before it is tried again',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const back = await jobs.fail(await held(bench, 'slow'), { error: 'busy', delay: '1h' });
      expectEqual(back.runAt! - back.updatedAt, 3_600_000, 'the job shows the end of its delay');
      expectEqual(await nextId(jobs), null, 'the job is not claimed before its delay has passed');
      await jobs.fail(await held(bench, 'quick'), { error: 'busy', delay: SHORT });
      await bench.pass(SHORT);
      expectEqual(await nextId(jobs), 'quick', 'after the delay the job is claimed');
    },
  }),
  jobsCase({
    id: 'jobs/dead-jobs-come-back',
    title: 'failed and cancelled jobs are listed and can be requeued with all their retries',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await jobs.fail(await held(bench, 'dead', { maxRetries: 0 }), { error: 'no', ttl: '1h' });
      await enqueued(bench, 'stopped').then(() => jobs.cancel(ref('stopped')));
      expectEqual(
        (await jobs.list('failed')).items.map((it) => it.taskId),
        ['dead'],
        'failed jobs are listed',
      );
      const options = { requestId: bench.id('request') };
      const back = await jobs.requeue(ref('dead'), options);
      expectEqual([back.state, back.retryCount, back.error], ['pending', 0, undefined], 'a requeued job starts over');
      expectEqual((await bench.tenant.kv.get(back.key))?.ttl, undefined, 'a requeued job does not expire');
      expectEqual(await jobs.requeue(ref('dead'), options), back, 'the retried requeue returns the same result');
      await expectCode('CONFLICT', 'a pending job is not requeued', () => jobs.requeue(ref('dead')));
      const missing = await expectCode('CONFLICT', 'a missing job is not requeued', () => jobs.requeue(ref('missing')));
      expectEqual(missing.current, null, 'the error says so');
      expectEqual((await jobs.list('failed')).items, [], 'a requeued job is not listed as failed');
      expectEqual(await nextId(jobs), 'dead', 'a requeued job can be claimed');
      const later = await jobs.requeue(ref('stopped'), { delay: '1h' });
      expectEqual(later.runAt! - later.updatedAt, 3_600_000, 'a cancelled job can be requeued with a delay');
      expectEqual(await nextId(jobs), null, 'the job waits until then');
    },
  }),
  jobsCase({
    id: 'jobs/cancelled-once-for-a-request',
    title: 'a retried cancellation or requeue does not apply to later states of the job',
    proves: ['GEN-8', 'KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'job');
      const cancel = () => jobs.cancel(ref('job'), { requestId: 'cancel' });
      const requeue = () => jobs.requeue(ref('job'), { requestId: 'requeue' });
      expectEqual((await cancel())?.state, 'cancelled', 'a job is cancelled');
      expectEqual((await requeue()).state, 'pending', 'the job is requeued');
      expectEqual((await cancel())?.state, 'pending', 'the retried cancellation returns the job as it is');
      await jobs.cancel(ref('job'));
      expectEqual(
        (await requeue()).state,
        'cancelled',
        'the retried requeue returns the job after another cancellation',
      );
      expectEqual((await seen(bench, 'job')).state, 'cancelled', 'the job stays cancelled');
    },
  }),
  jobsCase({
    id: 'jobs/ttl-belongs-to-the-end',
    title: 'only the record of an ended job expires, and it leaves nothing behind',
    proves: ['KV-9', 'KV-2'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const refusal = await expectCode('INVALID_ARGUMENT', 'a new job refuses a ttl', () =>
        jobs.enqueue({ ...ref('brief'), ttl: 1 } as never),
      );
      expectEqual(refusal.field, 'ttl', 'the error names the ttl');
      await kv.put(`gbe.state.tasks.${TYPE}.plain`, { state: 'pending' }, { ttl: '1h' });
      const plain = await claimed(bench, 'plain');
      expectEqual((await kv.get(plain.job.key))?.ttl, undefined, 'a claim clears a TTL that would remove the job');
      await jobs.complete(plain, { ttl: SHORT });
      await jobs.fail(await held(bench, 'dead'), { error: 'no', retry: false, ttl: SHORT });
      await enqueued(bench, 'stopped').then(() => jobs.cancel(ref('stopped'), { ttl: SHORT }));
      await jobs.complete(await held(bench, 'kept'));
      const ttl = (await kv.get(plain.job.key))?.ttl;
      expect(ttl === undefined || ttl <= SHORT, 'an ended job lives for its ttl');
      await bench.pass(SHORT);
      for (const taskId of ['plain', 'dead', 'stopped']) {
        expectEqual(await jobs.get(ref(taskId)), null, `job ${taskId} is gone`);
      }
      const lists = await Promise.all((['completed', 'failed', 'cancelled'] as const).map((it) => jobs.list(it)));
      expectEqual(
        lists.flatMap(({ items }) => items.map((it) => it.taskId)),
        ['kept'],
        'lists no longer have it, and a job without ttl stays',
      );
      expectEqual((await jobs.enqueue(ref('dead'))).created, true, 'the id can be used again');
      expectEqual(await nextId(jobs), 'dead', 'the id belongs to a new job');
    },
  }),
];

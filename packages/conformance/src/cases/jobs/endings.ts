/** How jobs end: completed, sent back, failed for good; each answer is the same when the call is sent again. */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { readTexts } from '../kv/fields.ts';
import { claimed, enqueued, held, nextId, peerJobs, ref, SHORT, seen, TYPE } from './samples.ts';

export const ENDING_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/complete-clears-the-lease',
    title: 'completing a job writes its result and clears its timeout in one step, and may be sent again',
    proves: ['003 Job completion', 'KV-7', 'GEN-8'],
    async run(bench) {
      const claim = await held(bench, 'job');
      const done = await bench.tenant.jobs.complete(claim, { resultRef: 's3://out' });
      expectEqual([done.state, done.resultRef, done.timeoutAt], ['completed', 's3://out', undefined], 'it is done');
      const record = await readTexts(bench.tenant, done.key);
      expectEqual([record?.timeout_at, record?.claim_id], [undefined, undefined], 'nobody holds it any more');
      for (const jobs of [bench.tenant.jobs, await peerJobs(bench)]) {
        const again = await jobs.complete(claim, { resultRef: 's3://out' });
        expectEqual(again, done, 'the same call sent again hears the same answer');
      }
      expectEqual(await nextId(bench.tenant.jobs), null, 'a completed job is not handed out');
    },
  }),
  jobsCase({
    id: 'jobs/failing-sends-back',
    title: 'a failed job is sent back and counted until its retries are used up; then it has failed for good',
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
          'it waits for the next worker and says why',
        );
        expectEqual(await jobs.fail(claim, { error: `attempt ${retryCount}` }), back, 'sent again it counts once');
        await expectCode('CLAIM_LOST', 'the claim is over', () => jobs.complete(claim));
      }
      const last = await claimed(bench, 'job');
      const dead = await jobs.fail(last, { error: 'attempt 3' });
      expectEqual([dead.state, dead.retryCount, dead.error], ['failed', 2, 'attempt 3'], 'then it has failed');
      expectEqual(await jobs.fail(last, { error: 'attempt 3' }), dead, 'and the same call hears the same answer');
      expectEqual(await nextId(jobs), null, 'a failed job is not handed out');
      const once = await jobs.fail(await held(bench, 'hopeless'), { error: 'no use', retry: false });
      expectEqual([once.state, once.retryCount], ['failed', 0], 'without a retry it fails at once');
    },
  }),
  jobsCase({
    id: 'jobs/failing-late-answer',
    title: 'a failure sent again after another took the job hears that it was taken, and disturbs nobody',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const first = await held(bench, 'job');
      await jobs.fail(first, { error: 'once' });
      const heir = await claimed(bench, 'job');
      const before = await seen(bench, 'job');
      expectEqual(await jobs.fail(first, { error: 'once' }), before, 'the failure was taken long ago');
      expectEqual(await seen(bench, 'job'), before, 'nothing was changed by hearing it again');
      expectEqual((await jobs.complete(heir)).retryCount, 1, 'the new holder goes on');
    },
  }),
  jobsCase({
    id: 'jobs/failing-with-a-delay',
    title: 'a failed job may wait before it is tried again',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const back = await jobs.fail(await held(bench, 'slow'), { error: 'busy', delay: '1h' });
      expectEqual(back.runAt! - back.updatedAt, 3_600_000, 'it says until when');
      expectEqual(await nextId(jobs), null, 'until then it is not handed out');
      await jobs.fail(await held(bench, 'quick'), { error: 'busy', delay: SHORT });
      await bench.pass(SHORT);
      expectEqual(await nextId(jobs), 'quick', 'then it is');
    },
  }),
  jobsCase({
    id: 'jobs/dead-jobs-come-back',
    title: 'failed and cancelled jobs are listed and can be requeued, with all their retries',
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
      expectEqual([back.state, back.retryCount, back.error], ['pending', 0, undefined], 'it starts over');
      expectEqual((await bench.tenant.kv.get(back.key))?.ttl, undefined, 'and does not expire any more');
      expectEqual(await jobs.requeue(ref('dead'), options), back, 'sent again the same call hears the same answer');
      await expectCode('CONFLICT', 'a pending job is not requeued', () => jobs.requeue(ref('dead')));
      const missing = await expectCode('CONFLICT', 'nor one that is not there', () => jobs.requeue(ref('missing')));
      expectEqual(missing.current, null, 'and the error says so');
      expectEqual((await jobs.list('failed')).items, [], 'it is not listed as failed any more');
      expectEqual(await nextId(jobs), 'dead', 'it is handed out');
      const later = await jobs.requeue(ref('stopped'), { delay: '1h' });
      expectEqual(later.runAt! - later.updatedAt, 3_600_000, 'a cancelled job can come back later');
      expectEqual(await nextId(jobs), null, 'and waits until then');
    },
  }),
  jobsCase({
    id: 'jobs/cancelled-once-for-a-request',
    title: 'a cancellation or requeue that is retried is not applied to what came after it',
    proves: ['GEN-8', 'KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'job');
      const cancel = () => jobs.cancel(ref('job'), { requestId: 'cancel' });
      const requeue = () => jobs.requeue(ref('job'), { requestId: 'requeue' });
      expectEqual((await cancel())?.state, 'cancelled', 'a job is cancelled');
      expectEqual((await requeue()).state, 'pending', 'and brought back');
      expectEqual((await cancel())?.state, 'pending', 'the cancellation sent again returns the job as it is');
      await jobs.cancel(ref('job'));
      expectEqual((await requeue()).state, 'cancelled', 'as does the requeue after another cancellation');
      expectEqual((await seen(bench, 'job')).state, 'cancelled', 'which stands');
    },
  }),
  jobsCase({
    id: 'jobs/ttl-belongs-to-the-end',
    title: 'only the record of a job that has ended expires, and it leaves nothing behind',
    proves: ['KV-9', 'KV-2'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const refusal = await expectCode('INVALID_ARGUMENT', 'a new job takes no ttl', () =>
        jobs.enqueue({ ...ref('brief'), ttl: 1 } as never),
      );
      expectEqual(refusal.field, 'ttl', 'and the error names it');
      await kv.put(`gbe.state.tasks.${TYPE}.plain`, { state: 'pending' }, { ttl: '1h' });
      const plain = await claimed(bench, 'plain');
      expectEqual((await kv.get(plain.job.key))?.ttl, undefined, 'a claim takes away what would let a job vanish');
      await jobs.complete(plain, { ttl: SHORT });
      await jobs.fail(await held(bench, 'dead'), { error: 'no', retry: false, ttl: SHORT });
      await enqueued(bench, 'stopped').then(() => jobs.cancel(ref('stopped'), { ttl: SHORT }));
      await jobs.complete(await held(bench, 'kept'));
      const ttl = (await kv.get(plain.job.key))?.ttl;
      expect(ttl === undefined || ttl <= SHORT, 'an ended job lives as long as it was told');
      await bench.pass(SHORT);
      for (const taskId of ['plain', 'dead', 'stopped']) {
        expectEqual(await jobs.get(ref(taskId)), null, `job ${taskId} is gone`);
      }
      const lists = await Promise.all((['completed', 'failed', 'cancelled'] as const).map((it) => jobs.list(it)));
      expectEqual(
        lists.flatMap(({ items }) => items.map((it) => it.taskId)),
        ['kept'],
        'and from the lists too, while a job without ttl stays',
      );
      expectEqual((await jobs.enqueue(ref('dead'))).created, true, 'its id is free again');
      expectEqual(await nextId(jobs), 'dead', 'and means a new job');
    },
  }),
];

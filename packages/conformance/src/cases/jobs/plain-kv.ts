/** Jobs changed by plain KV writes, as in the specification's pseudo-code, are the same jobs (003, KV-7, KV-8). */
import { textOf } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { claimed, nextId, overdueIds, overdueJob, ref, SHORT, seen, TYPE } from './samples.ts';

const keyOf = (taskId: string) => `gbe.state.tasks.${TYPE}.${taskId}`;

/** A job as the specification writes it, claimed long ago by a worker that no longer responds. */
const STUCK = { state: 'claimed', task_type: TYPE, worker: 'eve', created_at: 1_000, updated_at: 2_000 };

export const PLAIN_KV_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/plain-kv-jobs-are-swept',
    title: 'jobs claimed and moved by compareAndSwap and setFields are found and returned to the queue',
    proves: ['003 Worker claiming', '003 Step completion', '003 Sweeper scan', 'KV-8'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const { state: _, worker: __, ...pending } = STUCK;
      await kv.put(keyOf('half'), { ...pending, state: 'pending' });
      expect(await kv.compareAndSwap(keyOf('half'), 'state', 'pending', 'claimed'), 'a worker claims by a swap');
      await kv.put(keyOf('whole'), { ...pending, state: 'pending' });
      await kv.compareAndSwap(keyOf('whole'), 'state', 'pending', 'claimed');
      const soon = Date.now() + 3_600_000;
      await kv.setFields(keyOf('whole'), { worker: 'eve', updated_at: soon, timeout_at: 5_000 });
      await kv.put(keyOf('running'), { ...STUCK, updated_at: soon });
      await kv.setFields(keyOf('running'), { state: 'running', current_step: 2, timeout_at: 5_000 });
      await kv.put(keyOf('done'), STUCK);
      await kv.setFields(keyOf('done'), { state: 'completed', timeout_at: null, updated_at: 3_000 });
      expectEqual(
        await overdueIds(bench, '1h'),
        [
          ['half', 'not updated'],
          ['running', 'lease ended'],
          ['whole', 'lease ended'],
        ],
        'the index follows every write',
      );
      for (const taskId of ['half', 'running', 'whole']) {
        const { outcome, job } = await jobs.recover(await overdueJob(bench, taskId, '1h'));
        expectEqual([outcome, job.state, job.retryCount], ['requeued', 'pending', 1], `${taskId} is sent back`);
        const fields = (await kv.get(keyOf(taskId)))!.fields;
        expectEqual([textOf(fields.state), fields.worker], ['pending', undefined], 'KV reads the same state');
      }
      const ids = [await nextId(jobs), await nextId(jobs), await nextId(jobs), await nextId(jobs)];
      expectEqual(ids.map(String).sort(), ['half', 'null', 'running', 'whole'], 'the jobs are claimed like any others');
    },
  }),
  jobsCase({
    id: 'jobs/index-follows-kv',
    title: 'lists and the next claim follow every KV write to a job immediately',
    proves: ['KV-7', 'KV-8', '003 Sweeper scan'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const listed = async () => (await jobs.list('pending')).items.map((it) => it.taskId);
      await kv.put(keyOf('a'), { state: 'pending', created_at: 2 });
      await kv.put(keyOf('b'), { state: 'pending', created_at: 1 });
      expectEqual(await listed(), ['b', 'a'], 'a put creates a job, ordered by its times');
      await kv.setField(keyOf('a'), 'priority', 5);
      await kv.setField(keyOf('b'), 'updated_at', 9);
      expectEqual(await listed(), ['a', 'b'], 'writing a field moves the job');
      expectEqual(await nextId(jobs), 'a', 'priority counts when written by KV');
      await kv.swap(keyOf('b'), { set: { state: 'on hold' } });
      expectEqual(await listed(), [], 'a record without a job state is in no list');
      expectEqual(await jobs.get(ref('b')), null, 'such a record is not a job');
      await kv.put(keyOf('b'), { state: 'pending' }, { ttl: 10 * SHORT });
      expectEqual(await listed(), ['b'], 'the record can become a job again');
      await bench.pass(10 * SHORT);
      expectEqual(await listed(), [], 'an expired job is in no list');
      expectEqual(await nextId(jobs), null, 'an expired job is not claimed');
      await kv.setFields(keyOf('b'), { state: 'failed', updated_at: 7 });
      expectEqual([await listed(), (await jobs.list('failed')).items.length], [[], 1], 'its successor starts over');
      await kv.delete(keyOf('b'));
      expectEqual((await jobs.list('failed')).items, [], 'a deleted job is in no list');
    },
  }),
  jobsCase({
    id: 'jobs/hostile-fields',
    title: 'invalid times, counts or states in a job do no harm: the job can be found, claimed and completed',
    proves: ['KV-7', 'KV-8'],
    async run(bench) {
      const { jobs, kv } = bench.tenant;
      const odd = ['-1', '1e9', ' 5', '99999999999999999999', 'soon', '', '\u0663'];
      for (const [n, value] of odd.entries()) {
        const times = { created_at: value, updated_at: value, timeout_at: value, run_at: value };
        const counts = { priority: value, retry_count: value, max_retries: value, claim_id: `${value}/` };
        await kv.put(keyOf(`odd-${n}`), { state: 'pending', ...times, ...counts });
        const claim = await claimed(bench, `odd-${n}`);
        await jobs.progress(claim, { currentStep: 1 });
        expectEqual(
          (await jobs.complete(claim)).state,
          'completed',
          `a job with ${JSON.stringify(value)} can be completed`,
        );
      }
      await kv.put(keyOf('bytes'), { state: 'claimed', updated_at: new Uint8Array([0xff, 0, 0x31]) });
      expectEqual(await overdueIds(bench, '1h'), [['bytes', 'not updated']], 'an invalid time counts as long ago');
      expectEqual((await seen(bench, 'bytes')).updatedAt, 0, 'an invalid time reads as 0');
    },
  }),
];

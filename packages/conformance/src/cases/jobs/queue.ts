/** Jobs on their way in: what a job is, in which order jobs are handed out, and when. */
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { readTexts } from '../kv/fields.ts';
import { HOSTILE_IDS } from '../poison.ts';
import { claimed, enqueued, nextId, ref, SHORT, seen, TYPE } from './samples.ts';

export const QUEUE_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/a-job-is-a-kv-record',
    title: 'a job is the KV record of its key, with the fields the specification names',
    proves: ['003 Task State Record', 'KV-6', 'KV-7'],
    async run(bench) {
      const more = { priority: 5, stepCount: 3, maxRetries: 1, paramsRef: 's3://in', fields: { to: 'ada', n: 1 } };
      const job = await enqueued(bench, 'job_1', more);
      expectEqual(job.key, `gbe.state.tasks.${TYPE}.job_1`, 'its key is of the specification’s form');
      const record = await readTexts(bench.tenant, job.key);
      expectEqual(
        { ...record, created_at: '', updated_at: '' },
        {
          state: 'pending',
          task_type: TYPE,
          task_id: 'job_1',
          priority: '5',
          step_count: '3',
          max_retries: '1',
          params_ref: 's3://in',
          to: 'ada',
          n: '1',
          created_at: '',
          updated_at: '',
        },
        'its record has the fields of the specification, and the caller’s own',
      );
      expectEqual(record?.created_at, String(job.createdAt), 'times are milliseconds');
      expectEqual(record?.updated_at, record?.created_at, 'a new job was updated when it was created');
      expectEqual(await bench.tenant.jobs.get(ref('job_1')), job, 'get gives the same job');
    },
  }),
  jobsCase({
    id: 'jobs/enqueued-once',
    title: 'enqueueing a job that is there gives it back unchanged, whatever its state',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const first = await enqueued(bench, 'once', { priority: 1 });
      const again = await bench.tenant.jobs.enqueue({ ...ref('once'), priority: 9, paramsRef: 'other' });
      expectEqual(again, { job: first, created: false }, 'the same job comes back unchanged');
      const claim = await claimed(bench, 'once');
      const done = await bench.tenant.jobs.complete(claim);
      const late = await bench.tenant.jobs.enqueue(ref('once'));
      expectEqual(late, { job: done, created: false }, 'a late retry does not bring a finished job back');
      const both = await Promise.all(upTo(8).map(() => bench.tenant.jobs.enqueue(ref('raced'))));
      expectEqual(both.filter((it) => it.created).length, 1, 'of several at once one creates the job');
    },
  }),
  jobsCase({
    id: 'jobs/priority-then-age',
    title: 'the next job is the one of the highest priority, and of those the oldest',
    proves: ['KV-7'],
    async run(bench) {
      const jobs = [
        ['old', 0],
        ['low', -1000],
        ['urgent', 1000],
        ['new', 0],
        ['first', 10],
        ['second', 10],
        ['nine', 9],
      ] as const;
      for (const [taskId, priority] of jobs) {
        await enqueued(bench, taskId, { priority });
        await bench.pass(2);
      }
      await bench.tenant.jobs.enqueue(ref('elsewhere', 'email'));
      const order = ['urgent', 'first', 'second', 'nine', 'old', 'new', 'low', null];
      const given: (string | null)[] = [];
      for (const _ of order) given.push(await nextId(bench.tenant.jobs));
      expectEqual(given, order, 'jobs come by priority, then age, of their own type only, and then none');
    },
  }),
  jobsCase({
    id: 'jobs/delayed-until-its-time',
    title: 'a delayed job cannot be claimed before its time, and takes its rank when it has come',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const later = await enqueued(bench, 'later', { delay: '1h', priority: 1000 });
      expectEqual(later.runAt, later.createdAt + 3_600_000, 'it says when its time comes');
      expectEqual(await jobs.claim(ref('later'), { worker: 'ada' }), null, 'it cannot be claimed by its key');
      expectEqual(await nextId(jobs), null, 'nor is it handed out');
      await enqueued(bench, 'soon', { delay: SHORT });
      await bench.pass(SHORT);
      expectEqual([await nextId(jobs), await nextId(jobs)], ['soon', null], 'what is due is handed out once');
      await enqueued(bench, 'by-key', { delay: SHORT });
      await bench.pass(SHORT);
      const claim = await claimed(bench, 'by-key');
      expectEqual(claim.job.runAt, undefined, 'a job that is due can be claimed by its key, and waits no more');
    },
  }),
  jobsCase({
    id: 'jobs/due-jobs-take-their-rank',
    title: 'delayed jobs whose time has come are handed out by priority among the others',
    proves: ['KV-7'],
    async run(bench) {
      await enqueued(bench, 'plain');
      await enqueued(bench, 'delayed-low', { delay: 1, priority: -5 });
      await enqueued(bench, 'delayed-high', { delay: 1, priority: 5 });
      await bench.pass(10);
      const given = [await nextId(bench.tenant.jobs), await nextId(bench.tenant.jobs), await nextId(bench.tenant.jobs)];
      expectEqual(given, ['delayed-high', 'plain', 'delayed-low'], 'a delay costs a job no rank');
    },
  }),
  jobsCase({
    id: 'jobs/hostile-ids-never-meet',
    title: 'jobs of ids that engines confuse are jobs of their own',
    proves: ['GEN-5', 'KV-6', 'KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await Promise.all(HOSTILE_IDS.map((taskId, at) => enqueued(bench, taskId, { paramsRef: `p${at}` })));
      const found = new Set<string>();
      for (;;) {
        const claim = await jobs.claim({ taskType: TYPE }, { worker: 'ada' });
        if (!claim) break;
        expect(!found.has(claim.taskId), 'no job is handed out twice');
        found.add(claim.taskId);
        expectEqual(claim.job.paramsRef, `p${HOSTILE_IDS.indexOf(claim.taskId)}`, 'each has its own parameters');
        await jobs.complete(claim, { resultRef: `r${HOSTILE_IDS.indexOf(claim.taskId)}` });
      }
      expectEqual(found.size, HOSTILE_IDS.length, 'every job was handed out');
      const done = (await jobs.list('completed', { taskType: TYPE, limit: 1_000 })).items;
      expectEqual(done.map((it) => it.taskId).sort(), [...HOSTILE_IDS].sort(), 'and every one is listed as completed');
    },
  }),
  jobsCase({
    id: 'jobs/tenants-apart',
    title: 'jobs of one tenant are not seen, claimed, listed or swept by another',
    proves: ['GEN-10', 'KV-7'],
    async run(bench) {
      const other = bench.store.forTenant(bench.id('other')).jobs;
      await enqueued(bench, 'mine');
      expectEqual(await other.get(ref('mine')), null, 'another tenant does not see it');
      expectEqual(await nextId(other), null, 'is not handed it');
      expectEqual(await other.claim(ref('mine'), { worker: 'eve' }), null, 'cannot claim it by its key');
      expectEqual(await other.cancel(ref('mine')), null, 'cannot cancel it');
      await other.enqueue({ ...ref('mine'), priority: 7 });
      const claim = await claimed(bench, 'mine', SHORT);
      await bench.pass(SHORT);
      expectEqual(await other.overdue(TYPE, { threshold: '10m' }), [], 'does not sweep it');
      expectEqual((await other.list('claimed')).items, [], 'does not list it');
      expectEqual(await other.types('claimed'), [], 'does not know of its type');
      await other.cancel(ref('mine'));
      expectEqual((await bench.tenant.jobs.complete(claim)).priority, 0, 'and has a job of the same name of its own');
    },
  }),
  jobsCase({
    id: 'jobs/counts-of-any-size',
    title: 'retries and steps are read back as they were written, up to the largest safe integer',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const most = Number.MAX_SAFE_INTEGER;
      const job = await enqueued(bench, 'job', { maxRetries: most, stepCount: most });
      expectEqual([job.maxRetries, job.stepCount], [most, most], 'of a new job');
      const moved = await jobs.progress(await claimed(bench, 'job'), { currentStep: most });
      expectEqual([moved.currentStep, moved.stepCount], [most, most], 'of one that moves');
      expectEqual(await seen(bench, 'job'), moved, 'and as everybody reads it');
      const page = await jobs.list('running', { taskType: TYPE });
      expectEqual(page.items, [moved], 'and lists it');
    },
  }),
];

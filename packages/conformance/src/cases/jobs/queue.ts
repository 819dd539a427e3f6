/** Enqueueing jobs: their record, the order in which they are claimed, and delays. */
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
      expectEqual(job.key, `gbe.state.tasks.${TYPE}.job_1`, 'the key has the form of the specification');
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
        'the record has the fields of the specification and the caller’s own',
      );
      expectEqual(record?.created_at, String(job.createdAt), 'times are milliseconds');
      expectEqual(record?.updated_at, record?.created_at, 'a new job was updated when it was created');
      expectEqual(await bench.tenant.jobs.get(ref('job_1')), job, 'get returns the same job');
    },
  }),
  jobsCase({
    id: 'jobs/enqueued-once',
    title: 'enqueueing an existing job returns it unchanged, in every state',
    proves: ['KV-7', 'GEN-8'],
    async run(bench) {
      const first = await enqueued(bench, 'once', { priority: 1 });
      const again = await bench.tenant.jobs.enqueue({ ...ref('once'), priority: 9, paramsRef: 'other' });
      expectEqual(again, { job: first, created: false }, 'the same job is returned unchanged');
      const claim = await claimed(bench, 'once');
      const done = await bench.tenant.jobs.complete(claim);
      const late = await bench.tenant.jobs.enqueue(ref('once'));
      expectEqual(late, { job: done, created: false }, 'a late retry does not restart a finished job');
      const both = await Promise.all(upTo(8).map(() => bench.tenant.jobs.enqueue(ref('raced'))));
      expectEqual(both.filter((it) => it.created).length, 1, 'one of the concurrent calls creates the job');
    },
  }),
  jobsCase({
    id: 'jobs/priority-then-age',
    title: 'the next job is the oldest of those with the highest priority',
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
      expectEqual(given, order, 'jobs of the type are claimed by priority, then age; then none is left');
    },
  }),
  jobsCase({
    id: 'jobs/delayed-until-its-time',
    title: 'a delayed job cannot be claimed before its time and is then ranked by priority',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const later = await enqueued(bench, 'later', { delay: '1h', priority: 1000 });
      expectEqual(later.runAt, later.createdAt + 3_600_000, 'the job shows the end of its delay');
      expectEqual(
        await jobs.claim(ref('later'), { worker: 'ada' }),
        null,
        'a delayed job cannot be claimed by its key',
      );
      expectEqual(await nextId(jobs), null, 'the job is not claimed by type');
      await enqueued(bench, 'soon', { delay: SHORT });
      await bench.pass(SHORT);
      expectEqual([await nextId(jobs), await nextId(jobs)], ['soon', null], 'a due job is claimed once');
      await enqueued(bench, 'by-key', { delay: SHORT });
      await bench.pass(SHORT);
      const claim = await claimed(bench, 'by-key');
      expectEqual(claim.job.runAt, undefined, 'a due job can be claimed by its key and is no longer delayed');
    },
  }),
  jobsCase({
    id: 'jobs/due-jobs-take-their-rank',
    title: 'delayed jobs that are due are claimed by priority among the others',
    proves: ['KV-7'],
    async run(bench) {
      await enqueued(bench, 'plain');
      await enqueued(bench, 'delayed-low', { delay: 1, priority: -5 });
      await enqueued(bench, 'delayed-high', { delay: 1, priority: 5 });
      await bench.pass(10);
      const given = [await nextId(bench.tenant.jobs), await nextId(bench.tenant.jobs), await nextId(bench.tenant.jobs)];
      expectEqual(given, ['delayed-high', 'plain', 'delayed-low'], 'a delayed job keeps its rank');
    },
  }),
  jobsCase({
    id: 'jobs/hostile-ids-never-meet',
    title: 'jobs with ids that engines confuse are separate jobs',
    proves: ['GEN-5', 'KV-6', 'KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await Promise.all(HOSTILE_IDS.map((taskId, at) => enqueued(bench, taskId, { paramsRef: `p${at}` })));
      const found = new Set<string>();
      for (;;) {
        const claim = await jobs.claim({ taskType: TYPE }, { worker: 'ada' });
        if (!claim) break;
        expect(!found.has(claim.taskId), 'no job is claimed twice');
        found.add(claim.taskId);
        expectEqual(claim.job.paramsRef, `p${HOSTILE_IDS.indexOf(claim.taskId)}`, 'each job has its own parameters');
        await jobs.complete(claim, { resultRef: `r${HOSTILE_IDS.indexOf(claim.taskId)}` });
      }
      expectEqual(found.size, HOSTILE_IDS.length, 'every job was claimed');
      const done = (await jobs.list('completed', { taskType: TYPE, limit: 1_000 })).items;
      expectEqual(done.map((it) => it.taskId).sort(), [...HOSTILE_IDS].sort(), 'every job is listed as completed');
    },
  }),
  jobsCase({
    id: 'jobs/tenants-apart',
    title: 'a tenant neither sees, claims, lists nor sweeps jobs of another',
    proves: ['GEN-10', 'KV-7'],
    async run(bench) {
      const other = bench.store.forTenant(bench.id('other')).jobs;
      await enqueued(bench, 'mine');
      expectEqual(await other.get(ref('mine')), null, 'another tenant does not see it');
      expectEqual(await nextId(other), null, 'another tenant does not claim it');
      expectEqual(await other.claim(ref('mine'), { worker: 'eve' }), null, 'another tenant cannot claim it by its key');
      expectEqual(await other.cancel(ref('mine')), null, 'another tenant cannot cancel it');
      await other.enqueue({ ...ref('mine'), priority: 7 });
      const claim = await claimed(bench, 'mine', SHORT);
      await bench.pass(SHORT);
      expectEqual(await other.overdue(TYPE, { threshold: '10m' }), [], 'another tenant does not sweep it');
      expectEqual((await other.list('claimed')).items, [], 'another tenant does not list it');
      expectEqual(await other.types('claimed'), [], 'another tenant does not list its type');
      await other.cancel(ref('mine'));
      expectEqual(
        (await bench.tenant.jobs.complete(claim)).priority,
        0,
        'another tenant has its own job with the same id',
      );
    },
  }),
  jobsCase({
    id: 'jobs/counts-of-any-size',
    title: 'retries and steps are returned as written, up to the largest safe integer',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const most = Number.MAX_SAFE_INTEGER;
      const job = await enqueued(bench, 'job', { maxRetries: most, stepCount: most });
      expectEqual([job.maxRetries, job.stepCount], [most, most], 'counts of a new job');
      const moved = await jobs.progress(await claimed(bench, 'job'), { currentStep: most });
      expectEqual([moved.currentStep, moved.stepCount], [most, most], 'counts of a job in progress');
      expectEqual(await seen(bench, 'job'), moved, 'counts as every client reads them');
      const page = await jobs.list('running', { taskType: TYPE });
      expectEqual(page.items, [moved], 'counts as lists show them');
    },
  }),
];

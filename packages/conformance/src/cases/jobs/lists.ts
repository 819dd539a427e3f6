/** Lists of jobs by state, and of the types in a state. */
import { expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { jobsCase } from '../define.ts';
import { allPages, pageSizes, upTo } from '../iterate.ts';
import { claimed, enqueued, held, ref, TYPE } from './samples.ts';

export const LIST_CASES: readonly ConformanceCase[] = [
  jobsCase({
    id: 'jobs/listed-by-state',
    title: 'every job is listed under its own state only, delayed jobs separately',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      await enqueued(bench, 'pending');
      await enqueued(bench, 'delayed', { delay: '1h' });
      await held(bench, 'claimed');
      await jobs.progress(await held(bench, 'running'), { currentStep: 1 });
      await jobs.complete(await held(bench, 'completed'));
      await jobs.fail(await held(bench, 'failed'), { error: 'no', retry: false });
      await enqueued(bench, 'cancelled').then(() => jobs.cancel(ref('cancelled')));
      const states = ['pending', 'delayed', 'claimed', 'running', 'completed', 'failed', 'cancelled'] as const;
      for (const state of states) {
        const { items } = await jobs.list(state);
        expectEqual(items, [(await jobs.get(ref(state)))!], `only this job is ${state}`);
      }
    },
  }),
  jobsCase({
    id: 'jobs/longest-untouched-first',
    title: 'a list of one type starts with the least recently updated job, and its pages join without loss',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const claims = [];
      for (const n of upTo(7)) {
        claims.push(await held(bench, `job-${n}`));
        await bench.pass(2);
      }
      await jobs.heartbeat(claims[2]!);
      await jobs.enqueue(ref('elsewhere', 'email'));
      await jobs.claim(ref('elsewhere', 'email'), { worker: 'ada' });
      const page = (cursor: string | undefined) => jobs.list('claimed', { taskType: 'email-send', limit: 2, cursor });
      const listed = (await allPages(page)).map((it) => it.taskId);
      const order = [1, 2, 4, 5, 6, 7, 3].map((n) => `job-${n}`);
      expectEqual(listed, order, 'the job with a heartbeat comes last');
      const all = (await allPages((cursor) => jobs.list('claimed', { limit: 3, cursor }))).map((it) => it.taskId);
      expectEqual(all.toSorted(), [...order, 'elsewhere'].toSorted(), 'without a type all types are listed');
      const foreign = (await jobs.list('claimed', { limit: 1 })).next;
      await expectCode('INVALID_ARGUMENT', 'a cursor of another list is refused', () =>
        jobs.list('failed', { cursor: foreign }),
      );
    },
  }),
  jobsCase({
    id: 'jobs/types-of-a-state',
    title: 'lists each type that has a job in a state once, including a type that is a prefix of another',
    proves: ['KV-8'],
    async run(bench) {
      const { jobs } = bench.tenant;
      const types = ['email', 'email-send', 'email0', 'emailX', 'email_x', 'Email', 'a', 't'.repeat(100)];
      for (const taskType of types) {
        for (const n of upTo(2)) await jobs.enqueue({ taskType, taskId: `job-${n}` });
      }
      await jobs.enqueue({ taskType: 'later', taskId: 'job', delay: '1h' });
      expectEqual((await jobs.types('pending')).toSorted(), types.toSorted(), 'every type is listed once');
      expectEqual(await jobs.types('delayed'), ['later'], 'delayed jobs are listed by type separately');
      expectEqual(await jobs.types('claimed'), [], 'a state without jobs has no types');
      await enqueued(bench, 'job');
      await claimed(bench, 'job');
      expectEqual(await jobs.types('claimed'), ['email-send'], 'types are listed once they have jobs');
    },
  }),
  jobsCase({
    id: 'jobs/full-last-pages',
    title: 'a list whose last page is exactly full has no further page',
    proves: ['KV-7'],
    async run(bench) {
      const { jobs } = bench.tenant;
      for (const n of upTo(6)) await enqueued(bench, `job-${n}`);
      for (const [limit, sizes] of [
        [6, [6]],
        [3, [3, 3]],
        [2, [2, 2, 2]],
        [4, [4, 2]],
      ] as const) {
        for (const more of [{}, { taskType: TYPE }]) {
          const found = await pageSizes((cursor) => jobs.list('pending', { limit, cursor, ...more }));
          expectEqual(found, [...sizes], `in pages of ${limit}`);
        }
      }
    },
  }),
];

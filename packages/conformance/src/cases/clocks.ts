/** If the clock steps back, run and session times do not decrease, and nothing expires early (GEN-12, RUN-6). */
import { expect, expectEqual } from '../expect.ts';
import type { ConformanceCase } from '../kit.ts';
import { pausePayload, task, update } from './agents/samples.ts';
import { generalCase } from './define.ts';
import { upTo } from './iterate.ts';

const HOUR = 3_600_000;
const JOB = { taskType: 'email-send', taskId: 'job' };

export const CLOCK_CASES: readonly ConformanceCase[] = [
  generalCase({
    id: 'general/clock-that-steps-back',
    title:
      'when the clock steps back, times of runs and sessions do not decrease, and no lease or lifetime is cut short',
    proves: ['GEN-12', 'RUN-6'],
    needs: ['runs', 'kv', 'jobs', 'pauses', 'tasks', 'updates', 'sessions'],
    async run(bench) {
      const { runs, kv, jobs, agents } = bench.tenant;
      const runId = bench.id('run');
      const run = runs.handle(runId);
      const session = bench.id('session');
      const token = bench.id('token');
      const activity = async () => Date.parse((await agents.listSessions()).items[0]!.lastActiveAt);
      await run.append('RunStarted');
      await agents.saveTask(task(session));
      await agents.saveUpdate(update(session, 'before'));
      await kv.put('k', { a: '1' }, { ttl: '10m' });
      await jobs.enqueue(JOB);
      const claim = await jobs.claim(JOB, { worker: 'ada', lease: '10m' });
      await agents.savePlannerState(token, pausePayload());
      const pause = await agents.claimPause(token, { lease: '10m' });
      const before = await activity();
      await bench.setBack(HOUR);
      for (const n of upTo(3)) await run.append('Note', { n });
      await agents.saveTask(task(session, { taskId: 'after' }));
      await agents.saveUpdate(update(session, 'after'));
      const times = (await runs.fetchEvents(runId)).map((event) => event.persistedAt);
      expectEqual(times, times.toSorted(), 'persistedAt never decreases along the sequence');
      expect((await activity()) >= before, 'the last activity of a session does not decrease');
      const updates = await agents.listUpdates(session);
      expectEqual(
        updates.map((it) => it.updateId),
        ['before', 'after'],
        'updates stay in order of arrival',
      );
      expect((await kv.get('k')) !== null, 'a record with time left still exists');
      expectEqual(await jobs.overdue(JOB.taskType, { threshold: '1d' }), [], 'a lease with time left has not expired');
      expectEqual((await jobs.complete(claim!)).state, 'completed', 'the worker of the lease completes its job');
      await agents.confirmPause(token, pause!.claimId);
      expectEqual(await agents.loadPlannerState(token), {}, 'the holder of a pause claim confirms it');
    },
  }),
];

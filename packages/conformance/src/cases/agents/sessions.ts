/** Sessions: created by their first record, listed in order, and deleted with only their own data. */
import type { AgentStore, Capability } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { allPages } from '../iterate.ts';
import {
  at,
  casesOf,
  inOrder,
  memoryState,
  pausePayload,
  plannerEvent,
  steering,
  task,
  trajectory,
  update,
} from './samples.ts';

const ALL_OF_A_SESSION: Capability[] = ['sessions', 'tasks', 'updates', 'steering', 'trajectories', 'plannerEvents'];
const sessions = casesOf('agents', 'sessions', 'tasks');
const removals = casesOf('agents', ...ALL_OF_A_SESSION);

/** Each kind of record that creates a session. */
const FIRST_RECORDS: [Capability, (agents: AgentStore, sessionId: string) => Promise<void>][] = [
  ['tasks', (agents, sessionId) => agents.saveTask(task(sessionId))],
  ['updates', (agents, sessionId) => agents.saveUpdate(update(sessionId, 'u'))],
  ['steering', (agents, sessionId) => agents.saveSteering(steering(sessionId, 'e'))],
  ['trajectories', (agents, sessionId) => agents.saveTrajectory(`trace of ${sessionId}`, sessionId, trajectory())],
];

/** Fills a session with two tasks, three updates, one steering event, two trajectories and three planner events. */
async function fill(agents: AgentStore, sessionId: string): Promise<void> {
  const traces = [`${sessionId}/1`, `${sessionId}/2`];
  await inOrder(['t1', 't2'], (taskId) => agents.saveTask(task(sessionId, { taskId })));
  await inOrder(['u1', 'u2', 'u3'], (id) => agents.saveUpdate(update(sessionId, id)));
  await agents.saveSteering(steering(sessionId, 'e1'));
  await inOrder(traces, (traceId) => agents.saveTrajectory(traceId, sessionId, trajectory(traceId)));
  await inOrder([1, 2], (ts) => agents.savePlannerEvent(traces[0]!, plannerEvent({ ts })));
  await agents.savePlannerEvent(traces[1]!, plannerEvent());
}

/** Counts the remaining records of a filled session. */
async function countOf(agents: AgentStore, sessionId: string) {
  const traces = [`${sessionId}/1`, `${sessionId}/2`];
  const events = await Promise.all(traces.map((traceId) => agents.listPlannerEvents(traceId)));
  const found = await Promise.all(traces.map((traceId) => agents.getTrajectory(traceId, sessionId)));
  expectEqual(
    (await agents.listTraces(sessionId)).length,
    found.filter(Boolean).length,
    'listed traces have a trajectory',
  );
  return {
    tasks: (await agents.listTasks(sessionId)).length,
    updates: (await agents.listUpdates(sessionId)).length,
    steering: (await agents.listSteering(sessionId)).length,
    trajectories: found.filter(Boolean).length,
    plannerEvents: events.flat().length,
  };
}

const WHOLE = { tasks: 2, updates: 3, steering: 1, trajectories: 2, plannerEvents: 3 };
const NOTHING = { tasks: 0, updates: 0, steering: 0, trajectories: 0, plannerEvents: 0 };

async function listed(bench: Bench): Promise<string[]> {
  const found = await allPages((cursor) => bench.tenant.agents.listSessions({ cursor, limit: 3 }));
  return found.map((session) => session.sessionId);
}

export const SESSION_CASES: ConformanceCase[] = [
  ...FIRST_RECORDS.map(([capability, speak]) =>
    casesOf(
      'agents',
      'sessions',
      capability,
    )({
      id: `agents/sessions/known-from-${capability}`,
      title: `A session exists once it has ${capability}`,
      proves: ['000 list_tasks', 'AGT-1'],
      async run(bench) {
        const sessionId = bench.id('session');
        expectEqual(await listed(bench), [], 'at first there is no session');
        await speak(bench.tenant.agents, sessionId);
        expectEqual(await listed(bench), [sessionId], `a session with ${capability} is listed`);
      },
    }),
  ),

  sessions({
    id: 'agents/sessions/listed-in-byte-order',
    title: 'Sessions are listed in byte order, page by page',
    proves: ['GEN-5'],
    async run(bench) {
      const ids = ['\u{1F600}', '\uFFFD', 'é', 'z', 'a/b', 'a', 'Z', 'a%', '10', '9'];
      await inOrder(ids, (sessionId) => bench.tenant.agents.saveTask(task(sessionId)));
      await inOrder(ids, (sessionId) => bench.tenant.agents.saveTask(task(sessionId, { updatedAt: at(1) })));
      const byBytes = [...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expectEqual(await listed(bench), byBytes, 'every session once, in byte order');
      expectEqual(
        (await bench.tenant.agents.listSessions({ limit: 4 })).items.length,
        4,
        'a page holds as many as its limit',
      );
    },
  }),

  sessions({
    id: 'agents/sessions/know-their-times',
    title: 'A session has the times of its first and last activity',
    proves: ['000 list_tasks', 'GEN-2'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      const look = async () => (await agents.listSessions()).items[0]!;
      await agents.saveTask(task(sessionId));
      const first = await look();
      expect(
        Date.parse(first.createdAt) <= Date.parse(first.lastActiveAt),
        'a session is not active before it is created',
      );
      await bench.pass(40);
      await agents.saveTask(task(sessionId, { taskId: 'second' }));
      const later = await look();
      expectEqual(later.createdAt, first.createdAt, 'the time of creation stays');
      const moved = Date.parse(later.lastActiveAt) - Date.parse(first.lastActiveAt);
      expect(moved >= 40, `the last activity advances, not by ${moved} ms`);
    },
  }),

  removals({
    id: 'agents/sessions/deleted-whole',
    title: 'Deleting a session removes all of its data and reports the counts',
    proves: ['000 list_tasks', 'AGT-9', 'AGT-10'],
    async run(bench) {
      const { agents } = bench.tenant;
      const sessionId = bench.id('session');
      await fill(agents, sessionId);
      expectEqual(await countOf(agents, sessionId), WHOLE, 'the session is listed');
      expectEqual(await agents.deleteSession(sessionId), WHOLE, 'deleting reports how much was removed');
      expectEqual(await countOf(agents, sessionId), NOTHING, 'nothing of it is left');
      expectEqual(await listed(bench), [], 'the deleted session is not listed');
      expectEqual(await agents.deleteSession(sessionId), NOTHING, 'deleting it again removes nothing');
    },
  }),

  removals({
    id: 'agents/sessions/deleted-alone',
    title: 'Deleting a session leaves every other session unchanged',
    proves: ['GEN-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const others = ['a/b', 'a%', 'a_', 'a*', 'aa', 'A', 'a:', 'a.b', ' a', '%', '*'];
      await inOrder(['a', ...others], (sessionId) => fill(agents, sessionId));
      await agents.savePlannerEvent('a trace of no session', plannerEvent());
      await agents.deleteSession('a');
      await agents.deleteSession('_');
      expectEqual(await countOf(agents, 'a'), NOTHING, 'the session is gone');
      for (const other of others) expectEqual(await countOf(agents, other), WHOLE, `the session ${other} is untouched`);
      expectEqual(
        (await agents.listPlannerEvents('a trace of no session')).length,
        1,
        'events of other traces are unchanged',
      );
    },
  }),

  removals({
    id: 'agents/sessions/start-over-after-delete',
    title: 'A deleted session can start over, and other sessions may use its traces',
    proves: ['AGT-9'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [one, two] = [bench.id('session'), bench.id('session')];
      await fill(agents, one);
      await agents.deleteSession(one);
      await agents.saveTrajectory(`${one}/1`, two, trajectory('two'));
      expectEqual(
        await agents.getTrajectory(`${one}/1`, two),
        trajectory('two'),
        'a trace of a deleted session may go to another',
      );
      await agents.saveUpdate(update(one, 'u1', { content: 'anew' }));
      await agents.saveTask(task(one, { taskId: 't1', updatedAt: at(-5_000) }));
      const contents = (await agents.listUpdates(one)).map((item) => item.content);
      expectEqual<unknown>(contents, ['anew'], 'ids of a deleted session are free');
      expectEqual((await agents.listTasks(one)).length, 1, 'tasks of a deleted session do not outdate new ones');
    },
  }),

  casesOf(
    'agents',
    'sessions',
    'tasks',
    'pauses',
    'memory',
  )({
    id: 'agents/sessions/deleted-without-pauses-and-memory',
    title: 'Deleting a session keeps pauses and memory, which have their own lifetimes',
    proves: ['AGT-4', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [sessionId, token] = [bench.id('session'), bench.id('token')];
      await agents.saveTask(task(sessionId));
      await agents.savePlannerState(token, pausePayload(), { sessionId });
      await agents.saveMemoryState(sessionId, memoryState());
      await agents.deleteSession(sessionId);
      expectEqual(await agents.loadPlannerState(token), pausePayload(), 'the pause still exists');
      expectEqual(await agents.loadMemoryState(sessionId), memoryState(), 'the memory still exists');
    },
  }),
];

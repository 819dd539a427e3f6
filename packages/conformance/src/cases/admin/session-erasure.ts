/** Erasing a session: removes its tasks, logs, traces, pauses, memory and artifacts, and nothing of other sessions. */
import { memoryKey, type Store } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { binding, casesOf, flowEvent, plannerEvent, steering, task, trajectory, update } from '../agents/samples.ts';
import { sha256 } from '../artifacts/samples.ts';

const adminCase = casesOf('general', 'admin');

async function fill({ agents, artifacts }: Store, session: string): Promise<void> {
  const trace = `trace of ${session}`;
  const scope = { sessionId: session };
  await agents.saveTask(task(session, { traceId: trace }));
  await agents.saveUpdate(update(session, 'u1'));
  await agents.saveSteering(steering(session, 's1'));
  await agents.saveTrajectory(trace, session, trajectory());
  await agents.saveEvent(flowEvent(trace));
  await agents.saveRemoteBinding(binding(trace));
  await agents.savePlannerEvent(trace, plannerEvent());
  await agents.savePlannerState(`token of ${session}`, { reason: 'wait' }, { sessionId: session });
  await agents.saveMemoryState(memoryKey('t', 'user', session), { turns: [] });
  // The remainders of deleted states name the session and are not counted.
  for (const user of ['former user', 'other former user']) {
    await agents.saveMemoryState(memoryKey('t', user, session), { turns: [] });
    await agents.deleteMemoryState(memoryKey('t', user, session));
  }
  await artifacts.putText('shared by sessions', { scope, ttl: null });
  await artifacts.putText(`only of ${session}`, { scope, ttl: null });
}

/** Counts all data that the store has of a session. */
async function countsOf({ agents, artifacts }: Store, session: string) {
  const trace = `trace of ${session}`;
  const { items } = await artifacts.list({ sessionId: session });
  const readable = await Promise.all(items.map(({ id }) => artifacts.get(id)));
  return {
    tasks: (await agents.listTasks(session)).length,
    updates: (await agents.listUpdates(session)).length,
    steering: (await agents.listSteering(session)).length,
    trajectories: (await agents.listTraces(session)).length,
    events: (await agents.loadHistory(trace)).length,
    bindings: (await agents.listRemoteBindings(trace)).length,
    plannerEvents: (await agents.listPlannerEvents(trace)).length,
    pauses: (await agents.listPauses({ sessionId: session })).items.length,
    memory: (await agents.loadMemoryState(memoryKey('t', 'user', session))) === null ? 0 : 1,
    artifacts: readable.filter((bytes) => bytes !== null).length,
  };
}

const ALL = {
  tasks: 1,
  updates: 1,
  steering: 1,
  trajectories: 1,
  events: 1,
  bindings: 1,
  plannerEvents: 1,
  pauses: 1,
  memory: 1,
  artifacts: 2,
};
const NONE = Object.fromEntries(Object.keys(ALL).map((part) => [part, 0])) as typeof ALL;

export const SESSION_ERASURE_CASES: readonly ConformanceCase[] = [
  {
    ...adminCase({
      id: 'general/erased-sessions-take-their-bindings',
      title: 'erasing a session removes the bindings of all traces that name it as router session',
      proves: ['AGT-13'],
      async run({ tenant, id }) {
        const [session, neighbour] = [id('session'), id('session')];
        const [one, two, theirs, marked] = [id('trace'), id('trace'), id('trace'), id('trace')];
        for (const traceId of [one, two, marked])
          await tenant.agents.saveRemoteBinding(binding(traceId, { routerSessionId: session }));
        await tenant.agents.markBindingTerminal({ traceId: marked, contextId: 'context', taskId: 'task' });
        await tenant.agents.saveRemoteBinding(binding(theirs, { routerSessionId: neighbour }));
        await tenant.agents.saveRemoteBinding(binding(one, { taskId: 'of no session' }));
        const { removed } = await tenant.admin.eraseSession(session);
        expectEqual(removed, { bindings: 3 }, 'the report counts the bindings');
        expectEqual(await tenant.agents.listBindings(session), [], 'the session has none');
        for (const traceId of [two, marked])
          expectEqual(await tenant.agents.listRemoteBindings(traceId), [], 'the trace has no binding');
        expectEqual((await tenant.agents.listRemoteBindings(one)).length, 1, 'a binding of no session stays');
        expectEqual((await tenant.agents.listBindings(neighbour)).length, 1, 'another session keeps its own');
        expectEqual((await tenant.admin.eraseSession(session)).removed, {}, 'a second call finds nothing');
      },
    }),
    needs: ['admin', 'bindings'],
  },
  {
    ...adminCase({
      id: 'general/moved-bindings-survive-an-erasure',
      title: 'a binding that a writer moves to another session survives the concurrent erasure of its first session',
      proves: ['AGT-13'],
      async run(bench) {
        const { tenant, tenantId, id } = bench;
        const writer = (await bench.peer()).forTenant(tenantId).agents;
        for (let round = 0; round < 3; round++) {
          const [erased, kept] = [id('session'), id('session')];
          const moved = Array.from({ length: 30 }, (_, n) => binding(`trace ${n} of ${kept}`));
          for (const it of moved) await tenant.agents.saveRemoteBinding({ ...it, routerSessionId: erased });
          const move = async () => {
            for (const it of moved) await writer.saveRemoteBinding({ ...it, routerSessionId: kept });
          };
          await Promise.all([tenant.admin.eraseSession(erased), move()]);
          expectEqual(await tenant.agents.listBindings(erased), [], 'nothing is left in the erased session');
          const listed = await tenant.agents.listBindings(kept);
          expectEqual(
            listed.map(({ traceId }) => traceId).reverse(),
            moved.map(({ traceId }) => traceId),
            'every moved binding is in its new session',
          );
          for (const { traceId } of moved)
            expectEqual(
              (await tenant.agents.listRemoteBindings(traceId)).length,
              1,
              'the binding is listed in its trace',
            );
        }
      },
    }),
    needs: ['admin', 'bindings'],
  },
  adminCase({
    id: 'general/erased-sessions-leave-nothing',
    title: 'erasing a session removes all of its data and leaves other sessions unchanged',
    proves: ['AGT-6', 'AGT-9', 'AGT-11'],
    async run({ tenant, tenantId, id }) {
      const [session, neighbour] = [id('session'), id('session')];
      await fill(tenant, session);
      await fill(tenant, neighbour);
      expectEqual(await countsOf(tenant, session), ALL, 'the session has one of everything');
      const report = await tenant.admin.eraseSession(session);
      expectEqual(report, { tenantId, sessionId: session, removed: ALL }, 'the report counts everything');
      expectEqual(await countsOf(tenant, session), NONE, 'nothing is left');
      expectEqual(await countsOf(tenant, neighbour), ALL, 'the other session is unchanged, shared bytes included');
      const listed = (await tenant.agents.listSessions()).items.map(({ sessionId }) => sessionId);
      expectEqual(listed, [neighbour], 'the session is not listed any more');
      expectEqual((await tenant.admin.eraseSession(session)).removed, {}, 'a second call finds nothing');
    },
  }),
  {
    ...adminCase({
      id: 'general/erased-sessions-leave-a-mark',
      title: 'erasing a session leaves a record of the time without the session id, so that copies can repeat it',
      proves: ['COPY-1'],
      async run({ tenant, id }) {
        const session = id('session');
        await fill(tenant, session);
        await tenant.admin.eraseSession(session);
        const key = `tidemark.erased.${sha256(session)}`;
        const mark = await tenant.kv.get(key);
        expect(mark !== null && Number(Buffer.from(mark.fields.at!)) > 0, 'the mark has the time of the erasure');
        expect(mark.ttl !== undefined && mark.ttl > 0, 'the mark expires');
        const { items } = await tenant.kv.scanPage('');
        expect(!JSON.stringify(items.map((item) => item.key)).includes(session), 'no key has the id of the session');
      },
    }),
    needs: ['admin', 'kv'],
  },
  adminCase({
    id: 'general/session-erasure-stays-within-the-tenant',
    title: 'erasing a session leaves another tenant’s session with the same id alone',
    proves: ['GEN-10'],
    async run({ store, tenant, tenantId, id }) {
      const session = id('session');
      const other = store.forTenant(id('tenant'));
      await fill(tenant, session);
      await fill(other, session);
      await store.admin.eraseSession(session, { tenantId });
      expectEqual(await countsOf(other, session), ALL, 'the other tenant’s session is unchanged');
      expect((await countsOf(tenant, session)).tasks === 0, 'the named session is gone');
    },
  }),
];

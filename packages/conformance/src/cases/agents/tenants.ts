/** Tenants (GEN-10): the same ids in two tenants are two records, and no tenant can see, take or remove another's. */
import type { AgentStore } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { CARRIERS } from './carriers.ts';
import { binding, casesOf, inOrder, memoryState, pausePayload, task, trajectory, update } from './samples.ts';

/** Two tenants. The name of the second collides with keys of the first on engines that join or match them. */
function twoTenants(bench: Bench): [AgentStore, AgentStore] {
  return [bench.tenant.agents, bench.store.forTenant(`${bench.tenantId}:a`).agents];
}

export const TENANT_CASES: ConformanceCase[] = [
  ...CARRIERS.map((carrier) =>
    casesOf(
      'agents',
      carrier.capability,
    )({
      id: `agents/tenants/${carrier.name}-is-its-tenants`,
      title: `A ${carrier.name} is visible to its own tenant only`,
      proves: ['GEN-10', carrier.clause],
      async run(bench) {
        const [mine, theirs] = twoTenants(bench);
        await carrier.save(mine, 'a:same', { of: 'mine' });
        expectEqual(await carrier.load(theirs, 'a:same'), undefined, 'another tenant sees nothing under the id');
        expectEqual(
          await carrier.load(theirs, 'same'),
          undefined,
          'another tenant sees nothing under the id without its prefix',
        );
        await carrier.save(theirs, 'a:same', { of: 'theirs' });
        expectEqual<unknown>(
          await carrier.load(mine, 'a:same'),
          { of: 'mine' },
          'each tenant has its own value under the same id',
        );
        expectEqual<unknown>(
          await carrier.load(theirs, 'a:same'),
          { of: 'theirs' },
          'each tenant has its own value under the same id',
        );
      },
    }),
  ),

  casesOf(
    'agents',
    'pauses',
  )({
    id: 'agents/tenants/tokens-are-not-taken',
    title: "A tenant can neither consume nor probe another's token",
    proves: ['GEN-10', 'AGT-4'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      const token = bench.id('token');
      await mine.savePlannerState(token, pausePayload());
      expectEqual(await theirs.loadPlannerState(token), {}, 'another tenant loads nothing');
      expectEqual(await theirs.peekPause(token), null, 'another tenant sees nothing');
      expectEqual((await theirs.listPauses()).items, [], 'another tenant lists nothing');
      expectEqual(await mine.loadPlannerState(token), pausePayload(), 'the pause still exists for its own tenant');
      await theirs.savePlannerState(token, pausePayload());
      expectEqual(
        await theirs.loadPlannerState(token),
        pausePayload(),
        'consuming one tenant’s token does not consume the other’s',
      );
    },
  }),

  casesOf(
    'agents',
    'memory',
  )({
    id: 'agents/tenants/memory-is-not-listed',
    title: "A tenant neither lists nor deletes another's memory",
    proves: ['GEN-10', 'AGT-5'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      await mine.saveMemoryState('key', memoryState());
      expectEqual((await theirs.listMemory()).items, [], 'another tenant lists nothing');
      expectEqual(await theirs.deleteMemoryState('key'), false, 'another tenant has nothing to delete');
      expectEqual(
        (await theirs.saveMemoryState('key', {}, { expectedVersion: 0 })).version,
        1,
        'another tenant has its own versions',
      );
      expectEqual(await mine.loadMemoryState('key'), memoryState(), 'the state is unchanged');
    },
  }),

  casesOf(
    'agents',
    'bindings',
  )({
    id: 'agents/tenants/bindings-are-not-listed',
    title: "A tenant does not list another's bindings",
    proves: ['GEN-10', 'AGT-3'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      const worker = { routerSessionId: 'session', agentUrl: 'https://worker.example', remoteSkill: 'translate' };
      await mine.saveRemoteBinding(binding('trace', worker));
      expectEqual(await theirs.listRemoteBindings('trace'), [], 'another tenant lists nothing');
      expectEqual(await theirs.listBindings('session'), [], 'another tenant lists nothing of the session');
      expectEqual(await theirs.findBinding(worker), null, 'another tenant finds nothing');
      const key = { traceId: 'trace', contextId: 'context', taskId: 'task' };
      expectEqual(await theirs.markBindingTerminal(key), false, 'another tenant marks nothing');
      expectEqual(await mine.findBinding(worker), binding('trace', worker), 'the binding is as it was');
    },
  }),

  casesOf(
    'agents',
    'events',
  )({
    id: 'agents/tenants/no-trace-is-per-tenant',
    title: 'Events without a trace are kept per tenant too',
    proves: ['GEN-10', 'AGT-2'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      await mine.saveEvent({ traceId: null, ts: 1, kind: 'k', nodeName: null, nodeId: null, payload: {} });
      expectEqual(await theirs.loadHistory(null), [], 'another tenant has its own history');
    },
  }),

  casesOf(
    'agents',
    'trajectories',
  )({
    id: 'agents/tenants/traces-are-not-taken',
    title: "A trace of one tenant's session can be used by another tenant",
    proves: ['GEN-10', 'AGT-9'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      await mine.saveTrajectory('trace', 'one', trajectory('mine'));
      await theirs.saveTrajectory('trace', 'two', trajectory('theirs'));
      expectEqual(await mine.listTraces('one'), ['trace'], 'both tenants have the trace');
      expectEqual(await theirs.listTraces('one'), [], 'each tenant lists it in its own sessions');
    },
  }),

  casesOf(
    'agents',
    'sessions',
    'tasks',
    'updates',
  )({
    id: 'agents/tenants/sessions-are-not-deleted',
    title: "A tenant neither lists nor deletes another's sessions",
    proves: ['GEN-10'],
    async run(bench) {
      const [mine, theirs] = twoTenants(bench);
      await mine.saveTask(task('session'));
      await inOrder(['u1', 'u2'], (id) => mine.saveUpdate(update('session', id)));
      expectEqual((await theirs.listSessions()).items, [], 'another tenant lists nothing');
      expectEqual((await theirs.deleteSession('session')).tasks, 0, 'another tenant has nothing to delete');
      expectEqual((await mine.listUpdates('session')).length, 2, 'the session is untouched');
      expectEqual((await mine.listTasks('session')).length, 1, 'the session is untouched');
    },
  }),

  casesOf(
    'agents',
    'memory',
  )({
    id: 'agents/tenants/plain-store-is-the-default-tenant',
    title: 'The plain store works in the tenant named default',
    proves: ['GEN-10'],
    async run(bench) {
      const key = bench.id('key');
      const defaults = bench.store.forTenant('default').agents;
      await bench.store.agents.saveMemoryState(key, memoryState());
      expectEqual(await defaults.loadMemoryState(key), memoryState(), 'the plain store saves to the tenant default');
      expectEqual(await bench.tenant.agents.loadMemoryState(key), null, 'other tenants do not see it');
      expectEqual(await defaults.deleteMemoryState(key), true, 'the tenant default can delete it');
      expectEqual(await bench.store.agents.loadMemoryState(key), null, 'it is gone from the plain store');
    },
  }),
];

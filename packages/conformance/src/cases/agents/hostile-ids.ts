/** Ids may contain any text (GEN-5): an id is kept unchanged and never collides with another id. */
import type { AgentStore, Capability } from '@tidemark/core';
import { expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { HOSTILE_IDS, INVALID_IDS, MAX_IDS } from '../poison.ts';
import { CARRIERS } from './carriers.ts';
import { binding, casesOf, inOrder, steering, task, trajectory, update } from './samples.ts';

const IDS = [...HOSTILE_IDS, ...MAX_IDS];

const SEPARATORS = [
  ':',
  '/',
  '|',
  '.',
  '\u001f',
  '\u0001',
  '%',
  '-',
  '_',
  ',',
  '\\',
  '\\:',
  ' ',
  '%3A',
  '}',
  '"',
  '","',
];

/** Pairs of ids that become equal when they are joined with a separator. */
const COLLIDING_PAIRS: readonly (readonly [string, string])[] = SEPARATORS.flatMap((s) => [
  [`a${s}b`, 'c'],
  ['a', `b${s}c`],
  [`a${s}`, 'c'],
  ['a', `${s}c`],
]);

/** Records identified by two ids. They must be distinguished by the parts, not by the joined text. */
const PAIRED: {
  name: string;
  capability: Capability;
  save(agents: AgentStore, one: string, two: string): Promise<void>;
  list(agents: AgentStore, one: string): Promise<string[]>;
}[] = [
  {
    name: 'session-and-task',
    capability: 'tasks',
    save: (agents, sessionId, taskId) => agents.saveTask(task(sessionId, { taskId })),
    list: async (agents, sessionId) => (await agents.listTasks(sessionId)).map((item) => item.taskId),
  },
  {
    name: 'session-and-update',
    capability: 'updates',
    save: (agents, sessionId, id) => agents.saveUpdate(update(sessionId, id)),
    list: async (agents, sessionId) => (await agents.listUpdates(sessionId)).map((item) => item.updateId),
  },
  {
    name: 'session-and-steering',
    capability: 'steering',
    save: (agents, sessionId, id) => agents.saveSteering(steering(sessionId, id)),
    list: async (agents, sessionId) => (await agents.listSteering(sessionId)).map((item) => item.eventId),
  },
  {
    name: 'trace-and-binding-task',
    capability: 'bindings',
    save: (agents, traceId, taskId) => agents.saveRemoteBinding(binding(traceId, { contextId: null, taskId })),
    list: async (agents, traceId) => (await agents.listRemoteBindings(traceId)).map((item) => item.taskId),
  },
  {
    name: 'router-session-and-binding-trace',
    capability: 'bindings',
    save: (agents, routerSessionId, traceId) =>
      agents.saveRemoteBinding(binding(traceId, { routerSessionId, taskId: routerSessionId })),
    list: async (agents, routerSessionId) =>
      (await agents.listBindings(routerSessionId)).map((item) => item.traceId).reverse(),
  },
  {
    name: 'context-and-binding-task',
    capability: 'bindings',
    save: (agents, contextId, taskId) => agents.saveRemoteBinding(binding('trace', { contextId, taskId })),
    list: async (agents, contextId) =>
      (await agents.listRemoteBindings('trace'))
        .filter((item) => item.contextId === contextId)
        .map((item) => item.taskId),
  },
];

const trajectories = casesOf('agents', 'trajectories');
const updates = casesOf('agents', 'updates');

export const HOSTILE_ID_CASES: ConformanceCase[] = [
  ...CARRIERS.map((carrier) =>
    casesOf(
      'agents',
      carrier.capability,
    )({
      id: `agents/ids/${carrier.name}-under-any-id`,
      title: `A ${carrier.name} works under any valid id and is never confused with another`,
      proves: ['GEN-5', carrier.clause],
      async run(bench) {
        const { agents } = bench.tenant;
        await inOrder(IDS, (id) => carrier.save(agents, id, { id: IDS.indexOf(id) }));
        for (const [n, id] of IDS.entries()) {
          const loaded = await carrier.load(agents, id);
          expectEqual<unknown>(
            loaded,
            { id: n },
            `${JSON.stringify(id.slice(0, 20))} returns the value saved under it`,
          );
        }
        expectEqual(await carrier.load(agents, 'never saved'), undefined, 'an unused id returns nothing');
      },
    }),
  ),

  ...CARRIERS.map((carrier) =>
    casesOf(
      'agents',
      carrier.capability,
    )({
      id: `agents/ids/${carrier.name}-under-no-id`,
      title: `A ${carrier.name} with an invalid id is rejected`,
      proves: ['GEN-5', 'GEN-1'],
      async run(bench) {
        for (const [name, id] of INVALID_IDS) {
          // An event may have no trace: null is allowed there.
          if (id === null && carrier.capability === 'events') continue;
          const error = await expectCode('INVALID_ARGUMENT', `an id that is ${name} is refused`, () =>
            carrier.save(bench.tenant.agents, id as string, {}),
          );
          expectEqual(error.retryable, false, 'the error is not retryable');
          await expectCode('INVALID_ARGUMENT', `reading with an id that is ${name} is refused`, () =>
            carrier.load(bench.tenant.agents, id as string),
          );
        }
      },
    }),
  ),

  ...PAIRED.map(({ name, capability, save, list }) =>
    casesOf(
      'agents',
      capability,
    )({
      id: `agents/ids/${name}-never-meet`,
      title: 'Pairs of ids that are equal when joined stay apart',
      proves: ['GEN-5'],
      async run(bench) {
        const { agents } = bench.tenant;
        await inOrder(COLLIDING_PAIRS, ([one, two]) => save(agents, one, two));
        for (const one of new Set(COLLIDING_PAIRS.map(([first]) => first))) {
          const expected = COLLIDING_PAIRS.filter(([first]) => first === one).map(([, two]) => two);
          expectEqual(
            new Set(await list(agents, one)),
            new Set(expected),
            `${JSON.stringify(one)} has its own value and no other`,
          );
        }
      },
    }),
  ),

  trajectories({
    id: 'agents/ids/traces-of-any-name-are-listed',
    title: 'Sessions and traces with unusual names are listed unchanged',
    proves: ['GEN-5', '000 list_traces'],
    async run(bench) {
      const { agents } = bench.tenant;
      await inOrder(IDS, (id) => agents.saveTrajectory(id, 'all', trajectory()));
      expectEqual(await agents.listTraces('all', 1_000), [...IDS].reverse(), 'every trace is listed by its exact name');
    },
  }),

  updates({
    id: 'agents/ids/cursors-of-any-name',
    title: 'An update with an unusual id works as a cursor',
    proves: ['GEN-5', '000 list_updates'],
    async run(bench) {
      const { agents } = bench.tenant;
      await inOrder(IDS, (id) => agents.saveUpdate(update('session', id, { taskId: id })));
      for (const [n, sinceId] of IDS.entries()) {
        const page = await agents.listUpdatesPage('session', { sinceId, limit: 1 });
        expectEqual(
          page.items.map((item) => item.updateId),
          IDS.slice(n + 1, n + 2),
          'the next after the cursor follows',
        );
        const own = await agents.listUpdates('session', { taskId: sinceId });
        expectEqual(
          own.map((item) => item.taskId),
          [sinceId],
          'a task of that name has one update',
        );
      }
    },
  }),
];

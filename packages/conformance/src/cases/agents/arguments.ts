/** Invalid arguments: every method refuses them with a typed error that names the field, and writes nothing (GEN-1). */
import type { AgentStore, Capability } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import {
  binding,
  casesOf,
  expectField,
  flowEvent,
  pausePayload,
  plannerEvent,
  steering,
  task,
  update,
} from './samples.ts';

const BAD_TIMES = [
  '',
  'yesterday',
  '2026-02-30T00:00:00.000Z',
  '2026-02-16',
  '2026-02-16T09:30:00+02:00',
  1_700_000_000,
  null,
  undefined,
];
const BAD_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, 1n];
const BAD_TEXTS = ['', 7, {}, null, undefined, 'a\0b', '\ud800'];
const BAD_OPTIONAL_TEXTS = ['', 7, {}, 'a\0b', '\ud800'];
const BAD_INTEGERS = [1.5, Number.NaN, '1', null, undefined, 2 ** 53];
const BAD_WORDS = ['', 'DONE', 'running', 7, null, undefined, '__proto__', 'toString'];
const BAD_DURATIONS = [0, -1, 1.5, Number.NaN, '1 hour', '-1s', '', null, {}];
const NO_OBJECTS = [null, undefined, 'text', 7, []];

interface Method {
  name: string;
  capability: Capability;
  /** Bad values by the field they are set in. The field `''` stands for the whole argument. */
  bad: Record<string, readonly unknown[]>;
  call(agents: AgentStore, id: string, field: string, value: unknown): Promise<unknown>;
  /** Whether anything is stored under the id. */
  written?(agents: AgentStore, id: string): Promise<boolean>;
}

/** Returns a valid record with one field replaced, or `value` itself for the field `''`. */
function withField<T extends object>(good: T, field: string, value: unknown): T {
  return (field === '' ? value : { ...good, [field]: value }) as T;
}

const METHODS: Method[] = [
  {
    name: 'save-event',
    capability: 'events',
    bad: {
      '': NO_OBJECTS,
      traceId: BAD_OPTIONAL_TEXTS,
      ts: BAD_NUMBERS,
      kind: BAD_TEXTS,
      nodeName: BAD_OPTIONAL_TEXTS,
      nodeId: BAD_OPTIONAL_TEXTS,
      eventId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) => agents.saveEvent(withField(flowEvent(id), field, value)),
    written: async (agents, id) => (await agents.loadHistory(id)).length + (await agents.loadHistory(null)).length > 0,
  },
  {
    name: 'save-events',
    capability: 'events',
    bad: { '': NO_OBJECTS, ts: BAD_NUMBERS, kind: BAD_TEXTS },
    call: (agents, id, field, value) => agents.saveEvents([flowEvent(id), withField(flowEvent(id), field, value)]),
    written: async (agents, id) => (await agents.loadHistory(id)).length > 0,
  },
  {
    name: 'save-remote-binding',
    capability: 'bindings',
    bad: {
      '': NO_OBJECTS,
      traceId: BAD_TEXTS,
      contextId: BAD_OPTIONAL_TEXTS,
      taskId: BAD_TEXTS,
      agentUrl: BAD_TEXTS,
      routerSessionId: BAD_OPTIONAL_TEXTS,
      remoteSkill: BAD_OPTIONAL_TEXTS,
      tenantId: BAD_OPTIONAL_TEXTS,
      userId: BAD_OPTIONAL_TEXTS,
      lastRemoteTaskId: BAD_OPTIONAL_TEXTS,
      isTerminal: [1, 0, 'true', {}],
    },
    call: (agents, id, field, value) => agents.saveRemoteBinding(withField(binding(id), field, value)),
    written: async (agents, id) => (await agents.listRemoteBindings(id)).length > 0,
  },
  {
    name: 'find-binding',
    capability: 'bindings',
    bad: {
      '': NO_OBJECTS,
      routerSessionId: BAD_TEXTS,
      agentUrl: BAD_TEXTS,
      remoteSkill: BAD_TEXTS,
      tenantId: BAD_OPTIONAL_TEXTS,
      userId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) =>
      agents.findBinding(withField({ routerSessionId: id, agentUrl: 'https://a', remoteSkill: 's' }, field, value)),
  },
  {
    name: 'mark-binding-terminal',
    capability: 'bindings',
    bad: { '': NO_OBJECTS, traceId: BAD_TEXTS, contextId: BAD_OPTIONAL_TEXTS, taskId: BAD_TEXTS },
    call: (agents, id, field, value) =>
      agents.markBindingTerminal(withField({ traceId: id, contextId: null, taskId: 'task' }, field, value)),
    written: async (agents, id) => (await agents.listRemoteBindings(id)).length > 0,
  },
  {
    name: 'save-planner-state',
    capability: 'pauses',
    bad: { ttl: BAD_DURATIONS, sessionId: BAD_OPTIONAL_TEXTS, taskId: BAD_OPTIONAL_TEXTS },
    call: (agents, id, field, value) => agents.savePlannerState(id, pausePayload(), { [field]: value }),
    written: async (agents, id) => (await agents.peekPause(id)) !== null,
  },
  {
    name: 'load-planner-state',
    capability: 'pauses',
    bad: { requestId: BAD_OPTIONAL_TEXTS },
    call: async (agents, id, field, value) => agents.loadPlannerState(id, { [field]: value }),
  },
  {
    name: 'claim-planner-state',
    capability: 'pauses',
    bad: { lease: BAD_DURATIONS, requestId: BAD_OPTIONAL_TEXTS },
    call: (agents, id, field, value) => agents.claimPause(id, { [field]: value }),
  },
  {
    name: 'settle-planner-state',
    capability: 'pauses',
    bad: { claimId: BAD_TEXTS },
    call: (agents, id, _, value) => agents.confirmPause(id, value as string),
  },
  {
    name: 'list-pauses',
    capability: 'pauses',
    bad: { limit: [0, -1, 1.5, '5', Number.NaN, 1e9], sessionId: BAD_OPTIONAL_TEXTS, cursor: ['foreign', 7] },
    call: (agents, _, field, value) => agents.listPauses({ [field]: value }),
  },
  {
    name: 'save-memory-state',
    capability: 'memory',
    bad: { expectedVersion: [-1, 1.5, '1', Number.NaN], requestId: BAD_OPTIONAL_TEXTS },
    call: (agents, id, field, value) => agents.saveMemoryState(id, {}, { [field]: value }),
    written: async (agents, id) => (await agents.loadMemoryState(id)) !== null,
  },
  {
    name: 'list-memory',
    capability: 'memory',
    bad: { limit: [0, -1, 1.5, '5', Number.NaN, 1e9], prefix: [7, {}, 'a\0', '\ud800'], cursor: ['foreign', 7] },
    call: (agents, _, field, value) => agents.listMemory({ [field]: value }),
  },
  {
    name: 'save-task',
    capability: 'tasks',
    bad: {
      '': NO_OBJECTS,
      taskId: BAD_TEXTS,
      sessionId: BAD_TEXTS,
      status: BAD_WORDS,
      taskType: BAD_WORDS,
      priority: BAD_INTEGERS,
      createdAt: BAD_TIMES,
      updatedAt: BAD_TIMES,
      traceId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) => agents.saveTask(withField(task(id), field, value)),
    written: async (agents, id) => (await agents.listTasks(id)).length > 0,
  },
  {
    name: 'save-update',
    capability: 'updates',
    bad: {
      '': NO_OBJECTS,
      taskId: BAD_TEXTS,
      sessionId: BAD_TEXTS,
      updateId: BAD_TEXTS,
      updateType: BAD_WORDS,
      createdAt: BAD_TIMES,
      traceId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) => agents.saveUpdate(withField(update(id, 'u'), field, value)),
    written: async (agents, id) => (await agents.listUpdates(id)).length > 0,
  },
  {
    name: 'list-updates',
    capability: 'updates',
    bad: { taskId: BAD_OPTIONAL_TEXTS, sinceId: BAD_OPTIONAL_TEXTS },
    call: (agents, id, field, value) => agents.listUpdates(id, { [field]: value }),
  },
  {
    name: 'save-steering',
    capability: 'steering',
    bad: {
      '': NO_OBJECTS,
      taskId: BAD_TEXTS,
      sessionId: BAD_TEXTS,
      eventId: BAD_TEXTS,
      eventType: BAD_WORDS,
      createdAt: BAD_TIMES,
      traceId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) => agents.saveSteering(withField(steering(id, 'e'), field, value)),
    written: async (agents, id) => (await agents.listSteering(id)).length > 0,
  },
  {
    name: 'save-trajectory',
    capability: 'trajectories',
    bad: { sessionId: BAD_TEXTS },
    call: (agents, id, _, value) => agents.saveTrajectory(id, value as string, {}),
  },
  {
    name: 'save-planner-event',
    capability: 'plannerEvents',
    bad: {
      '': NO_OBJECTS,
      eventType: BAD_TEXTS,
      ts: BAD_NUMBERS,
      trajectoryStep: BAD_INTEGERS,
      eventId: BAD_OPTIONAL_TEXTS,
    },
    call: (agents, id, field, value) => agents.savePlannerEvent(id, withField(plannerEvent(), field, value)),
    written: async (agents, id) => (await agents.listPlannerEvents(id)).length > 0,
  },
  {
    name: 'list-sessions',
    capability: 'sessions',
    bad: { limit: [0, -1, 1.5, '5', Number.NaN, 1e9], cursor: ['foreign', 7] },
    call: (agents, _, field, value) => agents.listSessions({ [field]: value }),
  },
  {
    name: 'delete-session',
    capability: 'sessions',
    bad: { sessionId: BAD_TEXTS },
    call: (agents, _, __, value) => agents.deleteSession(value as string),
  },
];

export const ARGUMENT_CASES: ConformanceCase[] = METHODS.map(({ name, capability, bad, call, written }) =>
  casesOf(
    'agents',
    capability,
  )({
    id: `agents/arguments/${name}`,
    title: `${name} rejects invalid arguments, names the argument and writes nothing`,
    proves: ['GEN-1', 'AGT-1'],
    async run(bench) {
      const { agents } = bench.tenant;
      const id = bench.id();
      for (const [field, values] of Object.entries(bad)) {
        for (const value of values) {
          const shown = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
          const error = await expectCode('INVALID_ARGUMENT', `${field || 'argument'} ${shown} is refused`, () =>
            call(agents, id, field, value),
          );
          if (field) expectField(error, field);
          expect(error.rule && error.message.includes(error.rule), 'the error states the rule that was broken');
          expect(!error.retryable && error.outcome === 'rejected', 'the error is not retryable');
        }
      }
      if (written) expectEqual(await written(agents, id), false, 'nothing was written');
    },
  }),
);

/** Broken agent stores: each has one of the faults that the document's own examples, or neighbours, are known for. */
import { createHash } from 'node:crypto';
import type { JsonObject, RemoteBinding, StoredEvent, TaskState } from '@tidemark/core';
import { BROKEN_PAUSE_STORES } from './agents-pauses.ts';
import { type BrokenStore, broken } from './wrap.ts';

const MOST = 10_000;

/** A fault that lies in how events are written down: `hide` before the store sees them, `show` before the reader does. */
function brokenEvents(
  name: string,
  fault: string,
  caughtBy: string,
  hide: Recode,
  show: Recode,
  trace = (id: string | null) => id,
): BrokenStore {
  return broken(name, fault, caughtBy, {
    agents: (agents) => ({
      saveEvent: (event, options) => agents.saveEvent(hide(event), options),
      saveEvents: (events, options) => agents.saveEvents(events.map(hide), options),
      loadHistory: async (traceId, options) => (await agents.loadHistory(trace(traceId), options)).map(show),
      async *readHistory(traceId, options) {
        for await (const event of agents.readHistory(trace(traceId), options)) yield show(event);
      },
    }),
  });
}

type Recode = (event: StoredEvent) => StoredEvent;

const globalTrace = (traceId: string | null) => traceId ?? '__global__';

const EVENT_FAULTS: readonly BrokenStore[] = [
  brokenEvents(
    'null-trace-has-a-name',
    'Events without a trace are kept under a trace named __global__',
    'agents/events/no-trace-is-a-history-of-its-own',
    (event) => ({ ...event, traceId: globalTrace(event.traceId) }),
    (event) => ({ ...event, traceId: event.traceId === '__global__' ? null : event.traceId }),
    globalTrace,
  ),

  brokenEvents(
    'history-by-insertion',
    'A history is in order of insertion, whatever its ts',
    'agents/events/ordered-by-time-then-arrival',
    (event) => ({ ...event, ts: 0, payload: { ts: event.ts, payload: event.payload } }),
    (event) => ({ ...event, ts: event.payload.ts as number, payload: event.payload.payload as JsonObject }),
  ),

  brokenEvents(
    'fingerprint-by-key-order',
    'The same event with its keys in another order is stored twice',
    'agents/events/same-fields-are-one-event',
    (event) => {
      const fingerprint = createHash('sha256').update(JSON.stringify(event)).digest('hex');
      return event.eventId === undefined ? { ...event, eventId: `fingerprint ${fingerprint}` } : event;
    },
    ({ eventId, ...event }) =>
      eventId === undefined || eventId.startsWith('fingerprint ') ? event : { ...event, eventId },
  ),

  broken(
    'binding-by-task',
    'A binding is known by trace and task: a second context overwrites the first',
    'agents/bindings/contexts-stand-side-by-side',
    {
      agents: (agents) => ({
        saveRemoteBinding: (binding, options) =>
          agents.saveRemoteBinding(
            { ...binding, contextId: null, agentUrl: JSON.stringify([binding.contextId, binding.agentUrl]) },
            options,
          ),
        async listRemoteBindings(traceId, options) {
          const show = (binding: RemoteBinding): RemoteBinding => {
            const [contextId, agentUrl] = JSON.parse(binding.agentUrl) as [string | null, string];
            return { ...binding, contextId, agentUrl };
          };
          return (await agents.listRemoteBindings(traceId, options)).map(show);
        },
      }),
    },
  ),
];

const SESSION_FAULTS: readonly BrokenStore[] = [
  broken('older-task-overwrites', 'A late save overwrites a newer task', 'agents/tasks/older-saves-change-nothing', {
    agents: (agents) => {
      const hide = (task: TaskState): TaskState => ({
        ...task,
        updatedAt: '2000-01-01T00:00:00.000Z',
        contextSnapshot: { updatedAt: task.updatedAt, snapshot: task.contextSnapshot },
      });
      const show = (task: TaskState): TaskState => ({
        ...task,
        updatedAt: task.contextSnapshot.updatedAt as string,
        contextSnapshot: task.contextSnapshot.snapshot as JsonObject,
      });
      return {
        saveTask: (task, options) => agents.saveTask(hide(task), options),
        listTasks: async (sessionId, options) => (await agents.listTasks(sessionId, options)).map(show),
        async *readTasks(sessionId, options) {
          for await (const task of agents.readTasks(sessionId, options)) yield show(task);
        },
      };
    },
  }),

  broken('cursor-is-inclusive', 'A list repeats the update of its cursor', 'agents/updates/cursor-is-exclusive', {
    agents: (agents) => ({
      async listUpdates(sessionId, options = {}) {
        const after = await agents.listUpdates(sessionId, options);
        const all = await agents.listUpdates(sessionId, { limit: MOST });
        const cursor = all.find((update) => update.updateId === options.sinceId);
        return (cursor ? [cursor, ...after] : after).slice(0, options.limit);
      },
    }),
  }),

  broken(
    'limit-before-filter',
    'The limit is applied before the task filters',
    'agents/updates/task-filter-comes-before-limit',
    {
      agents: (agents) => ({
        async listUpdates(sessionId, { taskId, ...options } = {}) {
          const all = await agents.listUpdates(sessionId, options);
          return all.filter((update) => taskId === undefined || update.taskId === taskId);
        },
      }),
    },
  ),

  broken(
    'newest-page-first',
    'A limited list gives the newest and skips what is between',
    'agents/updates/oldest-first-and-limit-cuts-the-end',
    {
      agents: (agents) => ({
        async listUpdates(sessionId, options = {}) {
          await agents.listUpdates(sessionId, options);
          return (await agents.listUpdates(sessionId, { ...options, limit: MOST })).slice(-(options.limit ?? 500));
        },
      }),
    },
  ),

  broken(
    'cursor-of-the-task',
    'A cursor is sought among the items of the task',
    'agents/updates/cursor-is-of-the-session',
    {
      agents: (agents) => ({
        async listUpdates(sessionId, options = {}) {
          const { taskId, sinceId } = options;
          if (taskId === undefined || sinceId === undefined) return agents.listUpdates(sessionId, options);
          const ofTask = await agents.listUpdates(sessionId, { taskId, limit: MOST });
          const isKnown = ofTask.some((update) => update.updateId === sinceId);
          return agents.listUpdates(sessionId, isKnown ? options : { ...options, sinceId: undefined });
        },
      }),
    },
  ),

  broken('unknown-cursor-is-the-end', 'An unknown cursor gives nothing', 'agents/steering/unknown-cursor-starts-over', {
    agents: (agents) => ({
      async listSteering(sessionId, options) {
        const { items, cursorFound } = await agents.listSteeringPage(sessionId, options);
        return cursorFound ? items : [];
      },
    }),
  }),

  broken('steering-not-sanitised', 'Steering payloads are stored as they come', 'agents/steering/cuts-a-long-text', {
    agents: (agents) => {
      const raw = new Map<string, JsonObject | undefined>();
      return {
        async saveSteering(event, options) {
          await agents.saveSteering(event, options);
          const key = JSON.stringify([event.sessionId, event.eventId]);
          if (!raw.has(key)) raw.set(key, structuredClone(event.payload));
        },
        async listSteering(sessionId, options) {
          const events = await agents.listSteering(sessionId, options);
          return events.map((event) => ({ ...event, payload: raw.get(JSON.stringify([sessionId, event.eventId])) }));
        },
      };
    },
  }),

  broken(
    'delete-by-prefix',
    'Deleting a session deletes every session whose name starts with its name',
    'agents/sessions/deleted-alone',
    {
      agents: (agents) => ({
        async deleteSession(sessionId, options) {
          const { items } = await agents.listSessions({ limit: 1_000 });
          for (const other of items) {
            if (other.sessionId !== sessionId && other.sessionId.startsWith(sessionId))
              await agents.deleteSession(other.sessionId);
          }
          return agents.deleteSession(sessionId, options);
        },
      }),
    },
  ),
];

const PLANNER_FAULTS: readonly BrokenStore[] = [
  broken(
    'trajectory-ignores-session',
    'A trajectory is given to any session',
    'agents/trajectories/another-session-sees-nothing',
    {
      agents: (agents) => {
        const owners = new Map<string, string>();
        return {
          async saveTrajectory(traceId, sessionId, trajectory, options) {
            await agents.saveTrajectory(traceId, sessionId, trajectory, options);
            owners.set(traceId, sessionId);
          },
          getTrajectory: (traceId, sessionId, options) =>
            agents.getTrajectory(traceId, owners.get(traceId) ?? sessionId, options),
        };
      },
    },
  ),

  broken('traces-oldest-first', 'Traces are listed oldest first', 'agents/trajectories/most-recent-first', {
    agents: (agents) => ({
      async listTraces(sessionId, limit, options) {
        const recent = await agents.listTraces(sessionId, limit, options);
        return (await agents.listTraces(sessionId, MOST, options)).reverse().slice(0, Math.max(recent.length, 1));
      },
    }),
  }),

  broken(
    'planner-events-without-ts',
    'Planner events that differ only in ts are taken for one',
    'agents/planner-events/any-other-field-is-another-event',
    {
      agents: (agents) => {
        const seen = new Set<string>();
        return {
          async savePlannerEvent(traceId, event, options) {
            const key = JSON.stringify([traceId, { ...event, ts: 0 }]);
            if (event.eventId === undefined && seen.has(key)) return;
            await agents.savePlannerEvent(traceId, event, options);
            seen.add(key);
          },
        };
      },
    },
  ),

  broken(
    'planner-events-by-ts',
    'Planner events are in order of ts instead of emission',
    'agents/planner-events/order-of-emission',
    {
      agents: (agents) => ({
        listPlannerEvents: async (traceId, options) =>
          (await agents.listPlannerEvents(traceId, options)).sort((a, b) => a.ts - b.ts),
      }),
    },
  ),
];

export const BROKEN_AGENT_STORES: readonly BrokenStore[] = [
  ...EVENT_FAULTS,
  ...BROKEN_PAUSE_STORES,
  ...SESSION_FAULTS,
  ...PLANNER_FAULTS,
];

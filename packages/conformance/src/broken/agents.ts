/** Broken agent stores: each has a fault found in the specification's own examples or in similar stores. */
import { createHash } from 'node:crypto';
import type { JsonObject, RemoteBinding, StoredEvent, TaskState } from '@tidemark/core';
import { BROKEN_PAUSE_STORES } from './agents-pauses.ts';
import { type BrokenStore, broken } from './wrap.ts';

const MOST = 10_000;

/** A store that encodes events wrongly: `hide` changes them before they are stored, `show` after they are read. */
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
    'stores events without a trace under a trace named __global__',
    'agents/events/no-trace-is-a-history-of-its-own',
    (event) => ({ ...event, traceId: globalTrace(event.traceId) }),
    (event) => ({ ...event, traceId: event.traceId === '__global__' ? null : event.traceId }),
    globalTrace,
  ),

  brokenEvents(
    'history-by-insertion',
    'orders a history by insertion instead of ts',
    'agents/events/ordered-by-time-then-arrival',
    (event) => ({ ...event, ts: 0, payload: { ts: event.ts, payload: event.payload } }),
    (event) => ({ ...event, ts: event.payload.ts as number, payload: event.payload.payload as JsonObject }),
  ),

  brokenEvents(
    'fingerprint-by-key-order',
    'stores the same event twice when its keys are in another order',
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
    'identifies a binding by trace and task, so that a second context overwrites the first',
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
  broken(
    'older-task-overwrites',
    'lets a late save overwrite a newer task',
    'agents/tasks/older-saves-change-nothing',
    {
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
    },
  ),

  broken('cursor-is-inclusive', 'repeats the update of the cursor', 'agents/updates/cursor-is-exclusive', {
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
    'applies the limit before the task filter',
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
    'returns the newest items of a limited list and skips older ones',
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
    'looks up a cursor among the items of the task only',
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

  broken(
    'unknown-cursor-is-the-end',
    'returns nothing for an unknown cursor',
    'agents/steering/unknown-cursor-starts-over',
    {
      agents: (agents) => ({
        async listSteering(sessionId, options) {
          const { items, cursorFound } = await agents.listSteeringPage(sessionId, options);
          return cursorFound ? items : [];
        },
      }),
    },
  ),

  broken('steering-not-sanitised', 'stores steering payloads unsanitised', 'agents/steering/cuts-a-long-text', {
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
    'deletes every session whose name starts with the name of the deleted one',
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
    'returns a trajectory to any session',
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

  broken('traces-oldest-first', 'lists traces oldest first', 'agents/trajectories/most-recent-first', {
    agents: (agents) => ({
      async listTraces(sessionId, limit, options) {
        const recent = await agents.listTraces(sessionId, limit, options);
        return (await agents.listTraces(sessionId, MOST, options)).reverse().slice(0, Math.max(recent.length, 1));
      },
    }),
  }),

  broken(
    'planner-events-without-ts',
    'treats planner events that differ only in ts as one',
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
    'orders planner events by ts instead of emission',
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

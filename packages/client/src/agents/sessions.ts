/** Sessions over HTTP: tasks, updates, steering, trajectories and planner events. */
import {
  type CallOptions,
  checkId,
  checkLimit,
  checkObject,
  checkOptionalId,
  corruptValue,
  type JsonObject,
  type Page,
  type PlannerEvent,
  type PlannerEventCapability,
  type SessionCapability,
  type SessionInfo,
  type SessionListOptions,
  type SessionPage,
  type SessionRemoval,
  type StateUpdate,
  type SteeringCapability,
  type SteeringEvent,
  type StoreLimits,
  type TaskCapability,
  type TaskState,
  type TrajectoryCapability,
  type UpdateCapability,
} from '@tidemark/core/portable';
import { follow } from '../live.ts';
import type { Transport } from '../transport.ts';
import { bodyOf } from '../wire/bodies.ts';
import { segmentOf } from '../wire/segments.ts';
import { collect } from './collect.ts';

const DEFAULT_LIST = 500;
const MAX_LIST = 10_000;

function sessionPath(sessionId: unknown, rest = ''): string {
  return `/v1/sessions/${segmentOf(sessionId, 'sessionId')}${rest}`;
}

export function httpSessions(transport: Transport): SessionCapability {
  return {
    async listSessions(options) {
      const query = { limit: checkLimit(options?.limit, 100, 1_000), cursor: options?.cursor };
      return transport.call<Page<SessionInfo>>({ method: 'GET', path: '/v1/sessions', query }, options);
    },

    async deleteSession(sessionId, options) {
      const write = { method: 'deleteSession', args: [sessionId] };
      return transport.call<SessionRemoval>({ method: 'DELETE', path: sessionPath(sessionId), write }, options);
    },
  };
}

/** Saves something that names its session. */
async function saveIn(
  transport: Transport,
  { documentBytes }: StoreLimits,
  kind: { method: string; list: string; name: string },
  item: { sessionId: string },
  options: CallOptions | undefined,
): Promise<void> {
  checkObject(item, kind.name);
  const path = sessionPath(item.sessionId, kind.list);
  const body = bodyOf(item, documentBytes);
  await transport.call({ method: 'POST', path, body, write: { method: kind.method, args: [item] } }, options);
}

export function httpTasks(transport: Transport, limits: StoreLimits): TaskCapability {
  const tasks: TaskCapability = {
    saveTask: (task, options) =>
      saveIn(transport, limits, { method: 'saveTask', list: '/tasks', name: 'task' }, task, options),

    async listTasks(sessionId, options) {
      return collect(tasks.readTasks(sessionId, options));
    },

    async *readTasks(sessionId, options) {
      yield* transport.lines<TaskState>({ method: 'GET', path: sessionPath(sessionId, '/tasks') }, options);
    },
  };
  return tasks;
}

function listQuery(options: SessionListOptions | undefined) {
  return {
    taskId: checkOptionalId(options?.taskId, 'taskId') ?? undefined,
    sinceId: checkOptionalId(options?.sinceId, 'sinceId') ?? undefined,
  };
}

async function pageIn<T>(
  transport: Transport,
  sessionId: string,
  list: string,
  options: SessionListOptions | undefined,
): Promise<SessionPage<T>> {
  const path = sessionPath(sessionId, list);
  const query = { ...listQuery(options), limit: checkLimit(options?.limit, DEFAULT_LIST, MAX_LIST) };
  return transport.call<SessionPage<T>>({ method: 'GET', path, query }, options);
}

export function httpUpdates(transport: Transport, limits: StoreLimits): UpdateCapability {
  const listUpdatesPage: UpdateCapability['listUpdatesPage'] = (sessionId, options) =>
    pageIn<StateUpdate>(transport, sessionId, '/updates', options);
  return {
    saveUpdate: (update, options) =>
      saveIn(transport, limits, { method: 'saveUpdate', list: '/updates', name: 'update' }, update, options),
    listUpdatesPage,
    listUpdates: async (sessionId, options) => allOf('update', await listUpdatesPage(sessionId, options)),
    tailUpdates(sessionId, options) {
      const request = { method: 'GET', path: sessionPath(sessionId, '/updates'), query: listQuery(options) } as const;
      return updatesOf(follow(transport, request, options));
    },
  };
}

async function* updatesOf(events: AsyncIterable<{ data: string }>): AsyncGenerator<StateUpdate, void, undefined> {
  for await (const { data } of events) yield JSON.parse(data) as StateUpdate;
}

export function httpSteering(transport: Transport, limits: StoreLimits): SteeringCapability {
  const listSteeringPage: SteeringCapability['listSteeringPage'] = (sessionId, options) =>
    pageIn<SteeringEvent>(transport, sessionId, '/steering', options);
  return {
    saveSteering: (event, options) =>
      saveIn(transport, limits, { method: 'saveSteering', list: '/steering', name: 'event' }, event, options),
    listSteeringPage,
    listSteering: async (sessionId, options) => allOf('steering', await listSteeringPage(sessionId, options)),
  };
}

export function httpTrajectories(transport: Transport, { documentBytes }: StoreLimits): TrajectoryCapability {
  const pathOf = (traceId: unknown, sessionId: unknown) =>
    sessionPath(sessionId, `/trajectories/${segmentOf(traceId, 'traceId')}`);
  return {
    async saveTrajectory(traceId, sessionId, trajectory, options) {
      const path = pathOf(checkId(traceId, 'traceId'), sessionId);
      const body = bodyOf({ trajectory }, documentBytes);
      const write = { method: 'saveTrajectory', args: [traceId, sessionId, trajectory] };
      await transport.call({ method: 'PUT', path, body, write }, options);
    },

    async getTrajectory(traceId, sessionId, options) {
      const path = pathOf(checkId(traceId, 'traceId'), sessionId);
      return transport.find<JsonObject>({ method: 'GET', path }, options);
    },

    async listTraces(sessionId, limit, options) {
      const path = sessionPath(sessionId, '/traces');
      const query = { limit: checkLimit(limit, 50, MAX_LIST) };
      return (await transport.call<{ items: string[] }>({ method: 'GET', path, query }, options)).items;
    },
  };
}

export function httpPlannerEvents(transport: Transport, { documentBytes }: StoreLimits): PlannerEventCapability {
  const pathOf = (traceId: unknown) => `/v1/traces/${segmentOf(traceId, 'traceId')}/planner-events`;
  const events: PlannerEventCapability = {
    async savePlannerEvent(traceId, event, options) {
      const path = pathOf(traceId);
      checkObject(event, 'event');
      const write = { method: 'savePlannerEvent', args: [traceId, event] };
      await transport.call({ method: 'POST', path, body: bodyOf(event, documentBytes), write }, options);
    },

    async listPlannerEvents(traceId, options) {
      return collect(events.readPlannerEvents(traceId, options));
    },

    async *readPlannerEvents(traceId, options) {
      yield* transport.lines<PlannerEvent>({ method: 'GET', path: pathOf(traceId) }, options);
    },
  };
  return events;
}

/** The items of a page, as a list that is complete or fails. */
function allOf<T>(kind: string, { items, damaged }: SessionPage<T>): T[] {
  if (damaged?.[0] !== undefined) throw corruptValue(kind, damaged[0]);
  return items;
}

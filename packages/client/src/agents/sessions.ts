/** Sessions over HTTP: tasks, updates, steering, trajectories and planner events. */
import {
  type CallOptions,
  checkLimit,
  checkObject,
  checkOptionalId,
  corruptValue,
  type PlannerEvent,
  type PlannerEventCapability,
  type SessionCapability,
  type SessionListOptions,
  type SessionPage,
  type StateUpdate,
  type SteeringCapability,
  type StoreLimits,
  type TaskCapability,
  type TaskState,
  type TrajectoryCapability,
  type UpdateCapability,
} from '@tidemark/core/portable';
import { type AnswerTo, bodyOf, targetOf } from '@tidemark/wire';
import { follow } from '../live.ts';
import type { Transport } from '../transport.ts';
import { collect } from './collect.ts';

const DEFAULT_LIST = 500;
const MAX_LIST = 10_000;

export function httpSessions(transport: Transport): SessionCapability {
  return {
    async listSessions(options) {
      const query = { limit: checkLimit(options?.limit, 100, 1_000), cursor: options?.cursor };
      return transport.call({ ...targetOf('GET /v1/sessions'), query }, options);
    },

    async deleteSession(sessionId, options) {
      const write = transport.writeOf('agents', 'deleteSession', [sessionId, options]);
      return transport.call({ ...targetOf('DELETE /v1/sessions/{sessionId}', { sessionId }), write }, options);
    },
  };
}

type SaveRoute = `POST /v1/sessions/{sessionId}/${'tasks' | 'updates' | 'steering'}`;
type ListRoute = `GET /v1/sessions/{sessionId}/${'updates' | 'steering'}`;

/** Returns a call that saves an item. The item contains its session id. `name` names the item in errors. */
function saving<Item extends { sessionId: string }>(
  transport: Transport,
  { documentBytes }: StoreLimits,
  method: 'saveTask' | 'saveUpdate' | 'saveSteering',
  route: SaveRoute,
  name: string,
) {
  return async (item: Item, options: CallOptions | undefined): Promise<void> => {
    checkObject(item, name);
    const to = targetOf(route, { sessionId: item.sessionId });
    const write = transport.writeOf('agents', method, [item, options] as never);
    await transport.call({ ...to, body: bodyOf(item, documentBytes), write }, options);
  };
}

export function httpTasks(transport: Transport, limits: StoreLimits): TaskCapability {
  const tasks: TaskCapability = {
    saveTask: saving(transport, limits, 'saveTask', 'POST /v1/sessions/{sessionId}/tasks', 'task'),

    async listTasks(sessionId, options) {
      return collect(tasks.readTasks(sessionId, options));
    },

    async *readTasks(sessionId, options) {
      yield* transport.lines<TaskState>(targetOf('GET /v1/sessions/{sessionId}/tasks', { sessionId }), options);
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

async function pageIn<Name extends ListRoute>(
  transport: Transport,
  sessionId: string,
  route: Name,
  options: SessionListOptions | undefined,
) {
  const to = targetOf<ListRoute>(route, { sessionId });
  const query = { ...listQuery(options), limit: checkLimit(options?.limit, DEFAULT_LIST, MAX_LIST) };
  return (await transport.call({ ...to, query }, options)) as AnswerTo<Name>;
}

export function httpUpdates(transport: Transport, limits: StoreLimits): UpdateCapability {
  const listUpdatesPage: UpdateCapability['listUpdatesPage'] = (sessionId, options) =>
    pageIn(transport, sessionId, 'GET /v1/sessions/{sessionId}/updates', options);
  return {
    saveUpdate: saving(transport, limits, 'saveUpdate', 'POST /v1/sessions/{sessionId}/updates', 'update'),
    listUpdatesPage,
    listUpdates: async (sessionId, options) => allOf('update', await listUpdatesPage(sessionId, options)),
    tailUpdates(sessionId, options) {
      const request = { ...targetOf('GET /v1/sessions/{sessionId}/updates', { sessionId }), query: listQuery(options) };
      return updatesOf(follow(transport, request, options));
    },
  };
}

async function* updatesOf(events: AsyncIterable<{ data: string }>): AsyncGenerator<StateUpdate, void, undefined> {
  for await (const { data } of events) yield JSON.parse(data) as StateUpdate;
}

export function httpSteering(transport: Transport, limits: StoreLimits): SteeringCapability {
  const listSteeringPage: SteeringCapability['listSteeringPage'] = (sessionId, options) =>
    pageIn(transport, sessionId, 'GET /v1/sessions/{sessionId}/steering', options);
  return {
    saveSteering: saving(transport, limits, 'saveSteering', 'POST /v1/sessions/{sessionId}/steering', 'event'),
    listSteeringPage,
    listSteering: async (sessionId, options) => allOf('steering', await listSteeringPage(sessionId, options)),
  };
}

export function httpTrajectories(transport: Transport, { documentBytes }: StoreLimits): TrajectoryCapability {
  return {
    async saveTrajectory(traceId, sessionId, trajectory, options) {
      const to = targetOf('PUT /v1/sessions/{sessionId}/trajectories/{traceId}', { traceId, sessionId });
      const body = bodyOf({ trajectory }, documentBytes);
      const write = transport.writeOf('agents', 'saveTrajectory', [traceId, sessionId, trajectory, options]);
      await transport.call({ ...to, body, write }, options);
    },

    async getTrajectory(traceId, sessionId, options) {
      const to = targetOf('GET /v1/sessions/{sessionId}/trajectories/{traceId}', { traceId, sessionId });
      return transport.find({ ...to }, options);
    },

    async listTraces(sessionId, limit, options) {
      const to = targetOf('GET /v1/sessions/{sessionId}/traces', { sessionId });
      const query = { limit: checkLimit(limit, 50, MAX_LIST) };
      return (await transport.call({ ...to, query }, options)).items;
    },
  };
}

export function httpPlannerEvents(transport: Transport, { documentBytes }: StoreLimits): PlannerEventCapability {
  const events: PlannerEventCapability = {
    async savePlannerEvent(traceId, event, options) {
      const to = targetOf('POST /v1/traces/{traceId}/planner-events', { traceId });
      checkObject(event, 'event');
      const write = transport.writeOf('agents', 'savePlannerEvent', [traceId, event, options]);
      await transport.call({ ...to, body: bodyOf(event, documentBytes), write }, options);
    },

    async listPlannerEvents(traceId, options) {
      return collect(events.readPlannerEvents(traceId, options));
    },

    async *readPlannerEvents(traceId, options) {
      yield* transport.lines<PlannerEvent>(targetOf('GET /v1/traces/{traceId}/planner-events', { traceId }), options);
    },
  };
  return events;
}

/** Returns the items of a page. Throws `CORRUPT_VALUE` if an item is damaged. */
function allOf<T>(kind: string, { items, damaged }: SessionPage<T>): T[] {
  if (damaged?.[0] !== undefined) throw corruptValue(kind, damaged[0]);
  return items;
}

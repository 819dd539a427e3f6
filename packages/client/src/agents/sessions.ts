/** Sessions over HTTP: tasks, updates, steering, trajectories and planner events. */
import { corruptValue, type SessionPage, type StateUpdate, type SteeringEvent } from '@tidemark/core/portable';
import type { FormsOf } from '../calls.ts';

export const SESSION_FORMS = {
  listSessions: { route: 'GET /v1/sessions', takes: [['options?', 'limit', 'cursor']] },
  deleteSession: { route: 'DELETE /v1/sessions/{sessionId}', takes: ['sessionId', ['options?']] },

  readTasks: { route: 'GET /v1/sessions/{sessionId}/tasks', takes: ['sessionId', ['options?']], streams: 'lines' },
  listTasks: { route: 'GET /v1/sessions/{sessionId}/tasks', takes: ['sessionId', ['options?']], streams: 'collected' },
  saveTask: { route: 'POST /v1/sessions/{sessionId}/tasks', takes: [['task', '*'], ['options?']] },
  saveUpdate: { route: 'POST /v1/sessions/{sessionId}/updates', takes: [['update', '*'], ['options?']] },
  listUpdatesPage: {
    route: 'GET /v1/sessions/{sessionId}/updates',
    takes: ['sessionId', ['options?', 'taskId', 'sinceId', 'limit']],
  },
  listUpdates: {
    route: 'GET /v1/sessions/{sessionId}/updates',
    takes: ['sessionId', ['options?', 'taskId', 'sinceId', 'limit']],
    answer: (page: SessionPage<StateUpdate>) => allOf('update', page),
  },
  tailUpdates: {
    route: 'GET /v1/sessions/{sessionId}/updates',
    takes: ['sessionId', ['options?', 'taskId', 'sinceId']],
    streams: 'events',
  },
  saveSteering: { route: 'POST /v1/sessions/{sessionId}/steering', takes: [['event', '*'], ['options?']] },
  listSteeringPage: {
    route: 'GET /v1/sessions/{sessionId}/steering',
    takes: ['sessionId', ['options?', 'taskId', 'sinceId', 'limit']],
  },
  listSteering: {
    route: 'GET /v1/sessions/{sessionId}/steering',
    takes: ['sessionId', ['options?', 'taskId', 'sinceId', 'limit']],
    answer: (page: SessionPage<SteeringEvent>) => allOf('steering', page),
  },

  saveTrajectory: {
    route: 'PUT /v1/sessions/{sessionId}/trajectories/{traceId}',
    takes: ['traceId', 'sessionId', 'trajectory', ['options?']],
  },
  getTrajectory: {
    route: 'GET /v1/sessions/{sessionId}/trajectories/{traceId}',
    takes: ['traceId', 'sessionId', ['options?']],
    finds: true,
  },
  listTraces: {
    route: 'GET /v1/sessions/{sessionId}/traces',
    takes: ['sessionId', 'limit', ['options?']],
    answer: 'items',
  },
  readPlannerEvents: {
    route: 'GET /v1/traces/{traceId}/planner-events',
    takes: ['traceId', ['options?']],
    streams: 'lines',
  },
  listPlannerEvents: {
    route: 'GET /v1/traces/{traceId}/planner-events',
    takes: ['traceId', ['options?']],
    streams: 'collected',
  },
  savePlannerEvent: {
    route: 'POST /v1/traces/{traceId}/planner-events',
    takes: ['traceId', ['event', '*'], ['options?']],
  },
} as const satisfies FormsOf<'agents'>;

/** Returns the items of a page. Throws `CORRUPT_VALUE` if an item is damaged. */
function allOf<T>(kind: string, { items, damaged }: SessionPage<T>): T[] {
  if (damaged?.[0] !== undefined) throw corruptValue(kind, damaged[0]);
  return items;
}

/** Sessions, and the tasks, updates and steering they are made of. */
import { invalidArgument, type StateUpdate, type SteeringEvent, type TaskState } from '@tidemark/core';
import Type from 'typebox';
import { EVENT_STREAM, json, LINES, NOTHING, sendLines } from '../../http/answer.ts';
import { paced } from '../../limits/pacing.ts';
import {
  SessionInfo,
  SessionRemoval,
  StateUpdate as StateUpdateSchema,
  SteeringEvent as SteeringEventSchema,
  sessionPageOf,
  TaskState as TaskStateSchema,
} from '../../schemas/agents.ts';
import { Id, pageOf, pageQuery } from '../../schemas/common.ts';
import { updatesTopic } from '../../streams/topics.ts';
import { LIVE_PARAMETERS, type LiveQuery, lastEventIdOf, openStream, waitOf } from '../live.ts';
import { type Call, route, wants } from '../route.ts';

interface SessionQuery extends LiveQuery {
  taskId?: string;
  sinceId?: string;
  limit?: number;
}

const SESSION_PARAMETERS = {
  taskId: Type.Optional(Id),
  sinceId: Type.Optional(Type.String({ description: 'The id of the last item seen' })),
  limit: Type.Optional(Type.Integer()),
};
const SAVE_PROBLEMS = ['STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'] as const;

export const SESSION_ROUTES = [
  route<{ cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/sessions',
      scope: 'agents:read',
      summary: 'Sessions in byte order of their ids',
      query: pageQuery({}),
      answers: { 200: pageOf(SessionInfo) },
    },
    async ({ store, query, options }) => {
      const { cursor, limit } = query;
      return json(await store.agents.listSessions({ ...options, cursor, limit }));
    },
  ),
  route(
    {
      method: 'DELETE',
      path: '/v1/sessions/{sessionId}',
      scope: 'admin',
      summary: 'Remove a session: tasks, updates, steering, trajectories and their planner events',
      answers: { 200: SessionRemoval },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, params, options }) => json(await store.agents.deleteSession(params.sessionId!, options)),
  ),
  route<unknown, TaskState>(
    {
      method: 'POST',
      path: '/v1/sessions/{sessionId}/tasks',
      scope: 'agents:write',
      summary: 'Save a task; one that is older than the stored one changes nothing',
      body: TaskStateSchema,
      storeChecksBody: true,
      answers: { 204: null },
      problems: SAVE_PROBLEMS,
    },
    async (call) => {
      await call.store.agents.saveTask(ofSession(call), call.options);
      return NOTHING;
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/sessions/{sessionId}/tasks',
      scope: 'agents:read',
      summary: 'All tasks of a session in order of creation',
      answers: { 200: Type.Object({ items: Type.Array(TaskStateSchema) }) },
      gives: [LINES],
    },
    async (call) => {
      const { store, params, options, response } = call;
      if (wants(call, LINES))
        return sendLines(response, paced(call, store.agents.readTasks(params.sessionId!, options)));
      return json({ items: await store.agents.listTasks(params.sessionId!, options) });
    },
  ),
  route<unknown, StateUpdate>(
    {
      method: 'POST',
      path: '/v1/sessions/{sessionId}/updates',
      scope: 'agents:write',
      summary: 'Save an update; the first of an id stands',
      body: StateUpdateSchema,
      storeChecksBody: true,
      answers: { 204: null },
      problems: SAVE_PROBLEMS,
    },
    async (call) => {
      await call.store.agents.saveUpdate(ofSession(call), call.options);
      return NOTHING;
    },
  ),
  route<SessionQuery>(
    {
      method: 'GET',
      path: '/v1/sessions/{sessionId}/updates',
      scope: 'agents:read',
      summary: 'Updates of a session in order of arrival: a page, or live',
      query: Type.Object({ ...SESSION_PARAMETERS, ...LIVE_PARAMETERS }),
      answers: { 200: sessionPageOf(StateUpdateSchema) },
      gives: [EVENT_STREAM],
    },
    async (call) => {
      const { store, params, query, options, response, services } = call;
      const { taskId, sinceId, limit } = query;
      const sessionId = params.sessionId!;
      const topic = () => services.hub.topic(updatesTopic(store, sessionId, taskId));
      const since = sinceId === undefined ? null : encodeURIComponent(sinceId);
      if (wants(call, EVENT_STREAM)) {
        return openStream(call, [{ topic: topic(), after: lastEventIdOf(call) ?? since }]);
      }
      const read = () => store.agents.listUpdatesPage(sessionId, { ...options, taskId, sinceId, limit });
      const page = await read();
      const waitMs = waitOf(query);
      if (page.items.length > 0 || waitMs === 0) return json(page);
      const isEmpty = ({ items }: typeof page) => items.length === 0;
      return json(await services.hub.poll({ topic: topic(), after: since, waitMs, response, read, isEmpty }));
    },
  ),
  route<unknown, SteeringEvent>(
    {
      method: 'POST',
      path: '/v1/sessions/{sessionId}/steering',
      scope: 'agents:write',
      summary: 'Save a steering event, its payload sanitised; the first of an id stands',
      body: SteeringEventSchema,
      storeChecksBody: true,
      answers: { 204: null },
      problems: SAVE_PROBLEMS,
    },
    async (call) => {
      await call.store.agents.saveSteering(ofSession(call), call.options);
      return NOTHING;
    },
  ),
  route<SessionQuery>(
    {
      method: 'GET',
      path: '/v1/sessions/{sessionId}/steering',
      scope: 'agents:read',
      summary: 'Steering events of a session in order of arrival',
      query: Type.Object(SESSION_PARAMETERS),
      answers: { 200: sessionPageOf(SteeringEventSchema) },
    },
    async ({ store, params, query, options }) => {
      const { taskId, sinceId, limit } = query;
      return json(await store.agents.listSteeringPage(params.sessionId!, { ...options, taskId, sinceId, limit }));
    },
  ),
];

/** What is saved belongs to the session of the path. */
function ofSession<T extends { sessionId: string }>({ body, params }: Pick<Call<unknown, T>, 'body' | 'params'>): T {
  if (body.sessionId === params.sessionId) return body;
  throw invalidArgument('sessionId', 'the session of the path', body.sessionId);
}

/** Sessions with their tasks, updates and steering events. */
import Type from 'typebox';
import { EVENT_STREAM, LINES } from '../media-types.ts';
import {
  SessionInfo,
  SessionRemoval,
  StateUpdate as StateUpdateSchema,
  SteeringEvent as SteeringEventSchema,
  sessionPageOf,
  TaskState as TaskStateSchema,
} from '../schemas/agents.ts';
import { Id, pageOf, pageQuery } from '../schemas/common.ts';
import { LIVE_PARAMETERS } from './parameters.ts';
import { routes } from './route.ts';

const SESSION_PARAMETERS = {
  taskId: Type.Optional(Id),
  sinceId: Type.Optional(Type.String({ description: 'The id of the last item read' })),
  limit: Type.Optional(Type.Integer()),
};

const SAVE_PROBLEMS = ['STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'] as const;

export const SESSION_ROUTES = routes({
  'GET /v1/sessions': {
    scope: 'agents:read',
    summary: 'List sessions in byte order of their ids',
    query: pageQuery({}),
    answers: { 200: pageOf(SessionInfo) },
  },
  'DELETE /v1/sessions/{sessionId}': {
    scope: 'admin',
    summary: 'Remove a session: its tasks, updates, steering, trajectories and their planner events',
    answers: { 200: SessionRemoval },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'POST /v1/sessions/{sessionId}/tasks': {
    scope: 'agents:write',
    summary: 'Save a task; an older version than the stored one changes nothing',
    body: TaskStateSchema,
    storeChecksBody: true,
    answers: { 204: null },
    problems: SAVE_PROBLEMS,
  },
  'GET /v1/sessions/{sessionId}/tasks': {
    scope: 'agents:read',
    summary: 'List all tasks of a session in order of creation',
    answers: { 200: Type.Object({ items: Type.Array(TaskStateSchema) }) },
    produces: [LINES],
  },
  'POST /v1/sessions/{sessionId}/updates': {
    scope: 'agents:write',
    summary: 'Save an update; the first one saved under an id wins',
    body: StateUpdateSchema,
    storeChecksBody: true,
    answers: { 204: null },
    problems: SAVE_PROBLEMS,
  },
  'GET /v1/sessions/{sessionId}/updates': {
    scope: 'agents:read',
    summary: 'Read the updates of a session in order of arrival: a page, or live',
    query: Type.Object({ ...SESSION_PARAMETERS, ...LIVE_PARAMETERS }),
    answers: { 200: sessionPageOf(StateUpdateSchema) },
    produces: [EVENT_STREAM],
  },
  'POST /v1/sessions/{sessionId}/steering': {
    scope: 'agents:write',
    summary: 'Save a steering event with its payload sanitised; the first one saved under an id wins',
    body: SteeringEventSchema,
    storeChecksBody: true,
    answers: { 204: null },
    problems: SAVE_PROBLEMS,
  },
  'GET /v1/sessions/{sessionId}/steering': {
    scope: 'agents:read',
    summary: 'Read the steering events of a session in order of arrival',
    query: Type.Object(SESSION_PARAMETERS),
    answers: { 200: sessionPageOf(SteeringEventSchema) },
  },
});

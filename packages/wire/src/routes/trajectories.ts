/** Trajectories by session, and planner events by trace. */
import type { JsonObject } from '@tidemark/core/portable';
import Type from 'typebox';
import { LINES } from '../media-types.ts';
import { PlannerEvent as PlannerEventSchema } from '../schemas/agents.ts';
import { Id, jsonOf } from '../schemas/common.ts';
import { routes } from './route.ts';

export const TRAJECTORY_ROUTES = routes({
  'GET /v1/sessions/{sessionId}/traces': {
    scope: 'agents:read',
    summary: 'List the traces of a session, most recent first',
    query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
    answers: { 200: Type.Object({ items: Type.Array(Id) }) },
  },
  'GET /v1/sessions/{sessionId}/trajectories/{traceId}': {
    scope: 'agents:read',
    summary: 'Get a trajectory of the session',
    answers: { 200: jsonOf<JsonObject>() },
    problems: ['NOT_FOUND', 'CODEC_FAILED'],
  },
  'PUT /v1/sessions/{sessionId}/trajectories/{traceId}': {
    scope: 'agents:write',
    summary: 'Save a trajectory; a trace belongs to one session',
    body: Type.Object({ trajectory: jsonOf<JsonObject>() }),
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['SESSION_MISMATCH', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/traces/{traceId}/planner-events': {
    scope: 'agents:write',
    summary: 'Save a planner event; saving the same event again changes nothing',
    body: PlannerEventSchema,
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/traces/{traceId}/planner-events': {
    scope: 'agents:read',
    summary: 'Read the planner events of a trace in order of arrival',
    answers: { 200: Type.Object({ items: Type.Array(PlannerEventSchema) }) },
    produces: [LINES],
  },
});

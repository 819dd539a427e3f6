/** Trajectories by session, and planner events by trace. */
import type { JsonObject, PlannerEvent } from '@tidemark/core';
import Type from 'typebox';
import { json, LINES, NOTHING, sendLines } from '../../http/answer.ts';
import { Refusal } from '../../http/refusal.ts';
import { paced } from '../../limits/pacing.ts';
import { PlannerEvent as PlannerEventSchema } from '../../schemas/agents.ts';
import { Id, Json } from '../../schemas/common.ts';
import { route, wants } from '../route.ts';

export const TRAJECTORY_ROUTES = [
  route<{ limit?: number }>(
    {
      method: 'GET',
      path: '/v1/sessions/{sessionId}/traces',
      scope: 'agents:read',
      summary: 'Traces of a session, most recent first',
      query: Type.Object({ limit: Type.Optional(Type.Integer()) }),
      answers: { 200: Type.Object({ items: Type.Array(Id) }) },
    },
    async ({ store, params, query, options }) =>
      json({ items: await store.agents.listTraces(params.sessionId!, query.limit, options) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/sessions/{sessionId}/trajectories/{traceId}',
      scope: 'agents:read',
      summary: 'A trajectory of the session',
      answers: { 200: Json },
      problems: ['NOT_FOUND', 'CODEC_FAILED'],
    },
    async ({ store, params, options }) => {
      const trajectory = await store.agents.getTrajectory(params.traceId!, params.sessionId!, options);
      if (trajectory) return json(trajectory);
      throw new Refusal(404, 'NOT_FOUND', 'The session has no such trajectory');
    },
  ),
  route<unknown, { trajectory: JsonObject }>(
    {
      method: 'PUT',
      path: '/v1/sessions/{sessionId}/trajectories/{traceId}',
      scope: 'agents:write',
      summary: 'Save a trajectory; a trace belongs to one session',
      body: Type.Object({ trajectory: Json }),
      storeChecksBody: true,
      answers: { 204: null },
      problems: ['SESSION_MISMATCH', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, body, options }) => {
      await store.agents.saveTrajectory(params.traceId!, params.sessionId!, body.trajectory, options);
      return NOTHING;
    },
  ),
  route<unknown, PlannerEvent>(
    {
      method: 'POST',
      path: '/v1/traces/{traceId}/planner-events',
      scope: 'agents:write',
      summary: 'Save a planner event; the same again changes nothing',
      body: PlannerEventSchema,
      storeChecksBody: true,
      answers: { 204: null },
      problems: ['QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, body, options }) => {
      await store.agents.savePlannerEvent(params.traceId!, body, options);
      return NOTHING;
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/traces/{traceId}/planner-events',
      scope: 'agents:read',
      summary: 'Planner events of a trace in order of arrival',
      answers: { 200: Type.Object({ items: Type.Array(PlannerEventSchema) }) },
      gives: [LINES],
    },
    async (call) => {
      const { store, params, options, response } = call;
      if (wants(call, LINES))
        return sendLines(response, paced(call, store.agents.readPlannerEvents(params.traceId!, options)));
      return json({ items: await store.agents.listPlannerEvents(params.traceId!, options) });
    },
  ),
];

/** Trajectories by session, and planner events by trace. */
import { LINES } from '@tidemark/wire';
import { TRAJECTORY_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING, sendLines } from '../../http/answer.ts';
import { Refusal } from '../../http/refusal.ts';
import { paced } from '../../limits/pacing.ts';
import { bind, wants } from '../route.ts';

export const TRAJECTORY_HANDLERS = bind(TRAJECTORY_ROUTES, {
  'GET /v1/sessions/{sessionId}/traces': async ({ store, params, query, options }) =>
    json({ items: await store.agents.listTraces(params.sessionId, query.limit, options) }),
  'GET /v1/sessions/{sessionId}/trajectories/{traceId}': async ({ store, params, options }) => {
    const trajectory = await store.agents.getTrajectory(params.traceId, params.sessionId, options);
    if (trajectory) return json(trajectory);
    throw new Refusal(404, 'NOT_FOUND', 'The session has no such trajectory');
  },
  'PUT /v1/sessions/{sessionId}/trajectories/{traceId}': async ({ store, params, body, options }) => {
    await store.agents.saveTrajectory(params.traceId, params.sessionId, body.trajectory, options);
    return NOTHING;
  },
  'POST /v1/traces/{traceId}/planner-events': async ({ store, params, body, options }) => {
    await store.agents.savePlannerEvent(params.traceId, body, options);
    return NOTHING;
  },
  'GET /v1/traces/{traceId}/planner-events': async (call) => {
    const { store, params, options, response } = call;
    if (wants(call, LINES))
      return sendLines(response, paced(call, store.agents.readPlannerEvents(params.traceId, options)));
    return json({ items: await store.agents.listPlannerEvents(params.traceId, options) });
  },
});

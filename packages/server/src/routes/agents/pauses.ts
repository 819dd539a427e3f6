/** Pause tokens are secrets. They are sent only in bodies, so every route that takes a token is a POST. */
import { PAUSE_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING } from '../../http/answer.ts';
import { Refusal } from '../../http/refusal.ts';
import { bind } from '../route.ts';

export const PAUSE_HANDLERS = bind(PAUSE_ROUTES, {
  'GET /v1/pauses': async ({ store, query, options }) => {
    const { sessionId, cursor, limit } = query;
    return json(await store.agents.listPauses({ ...options, sessionId, cursor, limit }));
  },
  'POST /v1/pauses': async ({ store, body, options }) => {
    const { token, payload, ttl, sessionId, taskId } = body;
    await store.agents.savePlannerState(token, payload, {
      ...options,
      ttl,
      sessionId: sessionId ?? undefined,
      taskId: taskId ?? undefined,
    });
    return NOTHING;
  },
  'POST /v1/pauses/load': async ({ store, body, options }) => {
    const { token, requestId } = body;
    return json(await store.agents.loadPlannerState(token, { ...options, requestId }));
  },
  'POST /v1/pauses/claim': async ({ store, body, options }) => {
    const { token, lease, requestId } = body;
    return json({ claim: await store.agents.claimPause(token, { ...options, lease, requestId }) });
  },
  'POST /v1/pauses/confirm': async ({ store, body, options }) => {
    await store.agents.confirmPause(body.token, body.claimId, options);
    return NOTHING;
  },
  'POST /v1/pauses/release': async ({ store, body, options }) => {
    await store.agents.releasePause(body.token, body.claimId, options);
    return NOTHING;
  },
  'POST /v1/pauses/peek': async ({ store, body, options }) => {
    const pause = await store.agents.peekPause(body.token, options);
    if (pause) return json(pause);
    throw new Refusal(404, 'NOT_FOUND', 'There is no such pause, or it has expired');
  },
});

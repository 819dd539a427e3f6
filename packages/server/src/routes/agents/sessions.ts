/** Sessions with their tasks, updates and steering events. */
import { invalidArgument } from '@tidemark/core';
import { EVENT_STREAM, LINES } from '@tidemark/wire';
import { SESSION_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING, sendLines } from '../../http/answer.ts';
import { paced } from '../../limits/pacing.ts';
import { updatesTopic } from '../../streams/topics.ts';
import { lastEventIdOf, openStream, waitOf } from '../live.ts';
import { bind, wants } from '../route.ts';

export const SESSION_HANDLERS = bind(SESSION_ROUTES, {
  'GET /v1/sessions': async ({ store, query, options }) => {
    const { cursor, limit } = query;
    return json(await store.agents.listSessions({ ...options, cursor, limit }));
  },
  'DELETE /v1/sessions/{sessionId}': async ({ store, params, options }) =>
    json(await store.agents.deleteSession(params.sessionId, options)),
  'POST /v1/sessions/{sessionId}/tasks': async (call) => {
    await call.store.agents.saveTask(ofSession(call), call.options);
    return NOTHING;
  },
  'GET /v1/sessions/{sessionId}/tasks': async (call) => {
    const { store, params, options, response } = call;
    if (wants(call, LINES)) return sendLines(response, paced(call, store.agents.readTasks(params.sessionId, options)));
    return json({ items: await store.agents.listTasks(params.sessionId, options) });
  },
  'POST /v1/sessions/{sessionId}/updates': async (call) => {
    await call.store.agents.saveUpdate(ofSession(call), call.options);
    return NOTHING;
  },
  'GET /v1/sessions/{sessionId}/updates': async (call) => {
    const { store, params, query, options, response, services } = call;
    const { taskId, sinceId, limit } = query;
    const sessionId = params.sessionId;
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
  'POST /v1/sessions/{sessionId}/steering': async (call) => {
    await call.store.agents.saveSteering(ofSession(call), call.options);
    return NOTHING;
  },
  'GET /v1/sessions/{sessionId}/steering': async ({ store, params, query, options }) => {
    const { taskId, sinceId, limit } = query;
    return json(await store.agents.listSteeringPage(params.sessionId, { ...options, taskId, sinceId, limit }));
  },
});

/** Throws `INVALID_ARGUMENT` unless the body names the session in the path. */
function ofSession<T extends { sessionId: string }>({ body, params }: { body: T; params: { sessionId: string } }): T {
  if (body.sessionId === params.sessionId) return body;
  throw invalidArgument('sessionId', 'the session of the path', body.sessionId);
}

/** Remote workers, by trace and by the session of their router. */
import { BINDING_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING } from '../../http/answer.ts';
import { bind } from '../route.ts';

export const BINDING_HANDLERS = bind(BINDING_ROUTES, {
  'POST /v1/bindings': async ({ store, body, options }) => {
    await store.agents.saveRemoteBinding(body, options);
    return NOTHING;
  },
  'POST /v1/bindings/find': async ({ store, body, options }) =>
    json({ binding: await store.agents.findBinding(body, options) }),
  'POST /v1/bindings/terminal': async ({ store, body, options }) => {
    const key = { ...body, contextId: body.contextId ?? null };
    return json({ found: await store.agents.markBindingTerminal(key, options) });
  },
  'GET /v1/sessions/{sessionId}/bindings': async ({ store, params, options }) =>
    json({ items: await store.agents.listBindings(params.sessionId, options) }),
  'GET /v1/traces/{traceId}/bindings': async ({ store, params, options }) =>
    json({ items: await store.agents.listRemoteBindings(params.traceId, options) }),
});

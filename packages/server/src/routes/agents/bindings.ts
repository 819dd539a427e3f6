/** Remote workers, by trace. */
import { BINDING_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING } from '../../http/answer.ts';
import { bind } from '../route.ts';

export const BINDING_HANDLERS = bind(BINDING_ROUTES, {
  'POST /v1/bindings': async ({ store, body, options }) => {
    await store.agents.saveRemoteBinding(body, options);
    return NOTHING;
  },
  'GET /v1/traces/{traceId}/bindings': async ({ store, params, options }) =>
    json({ items: await store.agents.listRemoteBindings(params.traceId, options) }),
});

/** Runtime events, by trace. */
import { LINES } from '@tidemark/wire';
import { FLOW_EVENT_ROUTES } from '@tidemark/wire/routes';
import { json, NOTHING, sendLines } from '../../http/answer.ts';
import { paced } from '../../limits/pacing.ts';
import { bind, wants } from '../route.ts';

export const FLOW_EVENT_HANDLERS = bind(FLOW_EVENT_ROUTES, {
  'POST /v1/flow-events': async ({ store, body, options }) => {
    if (Array.isArray(body)) await store.agents.saveEvents(body, options);
    else await store.agents.saveEvent(body, options);
    return NOTHING;
  },
  'GET /v1/flow-events': async (call) => {
    const { store, query, options, response } = call;
    const traceId = query.traceId ?? null;
    if (wants(call, LINES)) return sendLines(response, paced(call, store.agents.readHistory(traceId, options)));
    return json({ items: await store.agents.loadHistory(traceId, options) });
  },
});

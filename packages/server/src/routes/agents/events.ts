/** Runtime events by trace. */
import type { StoredEvent } from '@tidemark/core';
import Type from 'typebox';
import { json, LINES, NOTHING, sendLines } from '../../http/answer.ts';
import { paced } from '../../limits/pacing.ts';
import { StoredEvent as StoredEventSchema } from '../../schemas/agents.ts';
import { Id } from '../../schemas/common.ts';
import { route, wants } from '../route.ts';

export const FLOW_EVENT_ROUTES = [
  route<unknown, StoredEvent | StoredEvent[]>(
    {
      method: 'POST',
      path: '/v1/flow-events',
      scope: 'agents:write',
      summary: 'Save runtime events; the same again changes nothing',
      body: Type.Union([StoredEventSchema, Type.Array(StoredEventSchema)]),
      storeChecksBody: true,
      answers: { 204: null },
      problems: ['STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      if (Array.isArray(body)) await store.agents.saveEvents(body, options);
      else await store.agents.saveEvent(body, options);
      return NOTHING;
    },
  ),
  route<{ traceId?: string }>(
    {
      method: 'GET',
      path: '/v1/flow-events',
      scope: 'agents:read',
      summary: 'All events of a trace in order; without a trace, those that belong to none',
      query: Type.Object({ traceId: Type.Optional(Id) }),
      answers: { 200: Type.Object({ items: Type.Array(StoredEventSchema) }) },
      gives: [LINES],
    },
    async (call) => {
      const { store, query, options, response } = call;
      const traceId = query.traceId ?? null;
      if (wants(call, LINES)) return sendLines(response, paced(call, store.agents.readHistory(traceId, options)));
      return json({ items: await store.agents.loadHistory(traceId, options) });
    },
  ),
];

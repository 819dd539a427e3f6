/** Runtime events, by trace. */
import Type from 'typebox';
import { LINES } from '../media-types.ts';
import { StoredEvent as StoredEventSchema } from '../schemas/agents.ts';
import { Id } from '../schemas/common.ts';
import { routes } from './route.ts';

export const FLOW_EVENT_ROUTES = routes({
  'POST /v1/flow-events': {
    scope: 'agents:write',
    summary: 'Save runtime events; saving the same events again changes nothing',
    body: Type.Union([StoredEventSchema, Type.Array(StoredEventSchema)]),
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['STORAGE_FULL', 'QUOTA_EXCEEDED', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/flow-events': {
    scope: 'agents:read',
    summary: 'Read all events of a trace in order; without a trace, the events that have no trace',
    query: Type.Object({ traceId: Type.Optional(Id) }),
    answers: { 200: Type.Object({ items: Type.Array(StoredEventSchema) }) },
    produces: [LINES],
  },
});

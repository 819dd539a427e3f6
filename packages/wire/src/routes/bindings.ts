/** Remote workers, by trace. */
import Type from 'typebox';
import { RemoteBinding as RemoteBindingSchema } from '../schemas/agents.ts';
import { routes } from './route.ts';

export const BINDING_ROUTES = routes({
  'POST /v1/bindings': {
    scope: 'agents:write',
    summary: 'Save the remote worker of a task; the last one saved wins',
    body: RemoteBindingSchema,
    storeChecksBody: true,
    answers: { 204: null },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'GET /v1/traces/{traceId}/bindings': {
    scope: 'agents:read',
    summary: 'List the remote workers of a trace',
    answers: { 200: Type.Object({ items: Type.Array(RemoteBindingSchema) }) },
  },
});

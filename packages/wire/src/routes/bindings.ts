/** Remote workers, by trace and by the session of their router. */
import Type from 'typebox';
import { BindingKey, BindingQuery, RemoteBinding as RemoteBindingSchema } from '../schemas/agents.ts';
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
  'POST /v1/bindings/find': {
    scope: 'agents:read',
    summary: 'Find the most recently updated binding that matches and is not terminal',
    body: BindingQuery,
    answers: { 200: Type.Object({ binding: Type.Union([RemoteBindingSchema, Type.Null()]) }) },
  },
  'POST /v1/bindings/terminal': {
    scope: 'agents:write',
    summary: 'Mark a binding as terminal, and return whether it exists',
    body: BindingKey,
    answers: { 200: Type.Object({ found: Type.Boolean() }) },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'GET /v1/sessions/{sessionId}/bindings': {
    scope: 'agents:read',
    summary: "List the remote workers of a router's session, most recently updated first",
    answers: { 200: Type.Object({ items: Type.Array(RemoteBindingSchema) }) },
  },
  'GET /v1/traces/{traceId}/bindings': {
    scope: 'agents:read',
    summary: 'List the remote workers of a trace',
    answers: { 200: Type.Object({ items: Type.Array(RemoteBindingSchema) }) },
  },
});

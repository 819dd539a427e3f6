/** Remote workers by trace. */
import type { RemoteBinding } from '@tidemark/core';
import Type from 'typebox';
import { json, NOTHING } from '../../http/answer.ts';
import { RemoteBinding as RemoteBindingSchema } from '../../schemas/agents.ts';
import { route } from '../route.ts';

export const BINDING_ROUTES = [
  route<unknown, RemoteBinding>(
    {
      method: 'POST',
      path: '/v1/bindings',
      scope: 'agents:write',
      summary: 'Save the remote worker of a task; the last one stands',
      body: RemoteBindingSchema,
      storeChecksBody: true,
      answers: { 204: null },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, body, options }) => {
      await store.agents.saveRemoteBinding(body, options);
      return NOTHING;
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/traces/{traceId}/bindings',
      scope: 'agents:read',
      summary: 'Remote workers of a trace',
      answers: { 200: Type.Object({ items: Type.Array(RemoteBindingSchema) }) },
    },
    async ({ store, params, options }) =>
      json({ items: await store.agents.listRemoteBindings(params.traceId!, options) }),
  ),
];

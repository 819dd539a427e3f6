/** Remote workers over HTTP, by trace and by the session of their router. */
import { type BindingCapability, checkObject, type StoreLimits } from '@tidemark/core/portable';
import { bodyOf, targetOf } from '@tidemark/wire';
import type { Transport } from '../transport.ts';

export function httpBindings(transport: Transport, { documentBytes }: StoreLimits): BindingCapability {
  return {
    async saveRemoteBinding(binding, options) {
      checkObject(binding, 'binding');
      const body = bodyOf(binding, documentBytes);
      const write = transport.writeOf('agents', 'saveRemoteBinding', [binding, options]);
      await transport.call({ ...targetOf('POST /v1/bindings'), body, write }, options);
    },

    async listRemoteBindings(traceId, options) {
      const to = targetOf('GET /v1/traces/{traceId}/bindings', { traceId });
      return (await transport.call({ ...to }, options)).items;
    },

    async findBinding(query, options) {
      checkObject(query, 'query');
      const body = bodyOf(query, documentBytes);
      return (await transport.call({ ...targetOf('POST /v1/bindings/find'), body }, options)).binding;
    },

    async listBindings(sessionId, options) {
      const to = targetOf('GET /v1/sessions/{sessionId}/bindings', { sessionId });
      return (await transport.call({ ...to }, options)).items;
    },

    async markBindingTerminal(binding, options) {
      checkObject(binding, 'binding');
      const { traceId, contextId, taskId } = binding;
      const body = bodyOf({ traceId, contextId, taskId }, documentBytes);
      const write = transport.writeOf('agents', 'markBindingTerminal', [binding, options]);
      return (await transport.call({ ...targetOf('POST /v1/bindings/terminal'), body, write }, options)).found;
    },
  };
}

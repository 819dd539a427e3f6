/** Remote workers, by trace, over HTTP. */
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
  };
}

/** Remote workers by trace, over HTTP. */
import { type BindingCapability, checkObject, type RemoteBinding, type StoreLimits } from '@tidemark/core/portable';
import type { Transport } from '../transport.ts';
import { bodyOf } from '../wire/bodies.ts';
import { segmentOf } from '../wire/segments.ts';

export function httpBindings(transport: Transport, { documentBytes }: StoreLimits): BindingCapability {
  return {
    async saveRemoteBinding(binding, options) {
      checkObject(binding, 'binding');
      const body = bodyOf(binding, documentBytes);
      const write = { method: 'saveRemoteBinding', args: [binding] };
      await transport.call({ method: 'POST', path: '/v1/bindings', body, write }, options);
    },

    async listRemoteBindings(traceId, options) {
      const path = `/v1/traces/${segmentOf(traceId, 'traceId')}/bindings`;
      return (await transport.call<{ items: RemoteBinding[] }>({ method: 'GET', path }, options)).items;
    },
  };
}

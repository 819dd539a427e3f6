/** The operator's calls over HTTP. */
import {
  type AdminStore,
  checkId,
  checkLimit,
  checkObject,
  checkOptionalId,
  type ErasureOptions,
  type ErasureReport,
  type Page,
  type PauseContent,
  type StoreLimits,
  type TenantPart,
} from '@tidemark/core/portable';
import type { Request, Transport } from './transport.ts';
import { bodyOf } from './wire/bodies.ts';
import { segmentOf } from './wire/segments.ts';

export function httpAdmin(transport: Transport, { documentBytes }: StoreLimits): AdminStore {
  const tenantIn = (options: { tenantId?: string } | undefined) => ({
    tenantId: checkOptionalId(options?.tenantId, 'tenantId') ?? undefined,
  });
  const pageIn = (options: { limit?: number; cursor?: string } | undefined) => ({
    limit: checkLimit(options?.limit, 100, 1_000),
    cursor: options?.cursor,
  });

  /** Step by step, so that no request takes long and an abort takes effect between two of them. */
  const erase = async (request: Request, options: ErasureOptions | undefined): Promise<ErasureReport> => {
    const removed: ErasureReport['removed'] = {};
    for (;;) {
      const { isDone, report } = await transport.step<ErasureReport>(request, options);
      for (const part of Object.keys(report.removed) as TenantPart[])
        removed[part] = (removed[part] ?? 0) + report.removed[part]!;
      if (isDone) return { ...report, removed };
      options?.onProgress?.({ ...report, removed: { ...removed } });
    }
  };

  return {
    async listTenants(options) {
      const request = { method: 'GET', path: '/v1/admin/tenants', query: pageIn(options) } as const;
      return transport.call<Page<string>>(request, options);
    },

    async listTraces(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call<Page<string>>({ method: 'GET', path: '/v1/admin/traces', query }, options);
    },

    async readPause(pauseId, options) {
      const path = `/v1/admin/pauses/${segmentOf(pauseId, 'pauseId')}`;
      return transport.find<PauseContent>({ method: 'GET', path, query: tenantIn(options) }, options);
    },

    async putPause(pause, options) {
      checkObject(pause, 'pause');
      const body = bodyOf(pause, documentBytes);
      const write = { method: 'putPause', args: [pause] };
      const request = { method: 'POST', path: '/v1/admin/pauses', query: tenantIn(options), body, write } as const;
      return (await transport.call<{ put: boolean }>(request, options)).put;
    },

    async eraseTenant(tenantId, options) {
      const path = `/v1/admin/tenants/${segmentOf(checkId(tenantId, 'tenantId'), 'tenantId')}`;
      const write = { method: 'eraseTenant', args: [tenantId] };
      return erase({ method: 'DELETE', path, query: { step: true }, write }, options);
    },

    async eraseSession(sessionId, options) {
      const path = `/v1/admin/sessions/${segmentOf(sessionId, 'sessionId')}`;
      const write = { method: 'eraseSession', args: [sessionId, tenantIn(options)] };
      return erase({ method: 'DELETE', path, query: { ...tenantIn(options), step: true }, write }, options);
    },
  };
}

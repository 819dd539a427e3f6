/** Operator calls over HTTP. */
import {
  type AdminStore,
  checkLimit,
  checkObject,
  type ErasureOptions,
  type ErasureReport,
  invalidArgument,
  type StoreLimits,
  type TenantPart,
} from '@tidemark/core/portable';
import { bodyOf, targetOf } from '@tidemark/wire';
import { checkTenant, tenantIn as tenantOf } from './tenants.ts';
import type { Request, Transport } from './transport.ts';

type EraseRoute = 'DELETE /v1/admin/tenants/{tenantId}' | 'DELETE /v1/admin/sessions/{sessionId}';

export function httpAdmin(transport: Transport, { documentBytes }: StoreLimits): AdminStore {
  const tenantIn = (options: { tenantId?: string } | undefined) => tenantOf(transport, options);
  const pageIn = (options: { limit?: number; cursor?: string } | undefined) => ({
    limit: checkLimit(options?.limit, 100, 1_000),
    cursor: options?.cursor,
  });

  /** Erases in steps, so that no request takes long and an abort can take effect between steps. */
  const erase = async (request: Request<EraseRoute>, options: ErasureOptions | undefined): Promise<ErasureReport> => {
    const removed: ErasureReport['removed'] = {};
    const onProgress = options?.onProgress;
    if (onProgress !== undefined && typeof onProgress !== 'function')
      throw invalidArgument('onProgress', 'a function', onProgress);
    for (;;) {
      const { isDone, report } = await transport.step(request, options);
      for (const part of Object.keys(report.removed) as TenantPart[])
        removed[part] = (removed[part] ?? 0) + report.removed[part]!;
      if (isDone) return { ...report, removed };
      onProgress?.({ ...report, removed: { ...removed } });
    }
  };

  return {
    async listTenants(options) {
      const request = { ...targetOf('GET /v1/admin/tenants'), query: pageIn(options) };
      return transport.call(request, options);
    },

    async listAllTraces(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call({ ...targetOf('GET /v1/admin/traces'), query }, options);
    },

    async listRemovedRuns(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call({ ...targetOf('GET /v1/admin/removed-runs'), query }, options);
    },

    async listArtifacts(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call({ ...targetOf('GET /v1/admin/artifacts'), query }, options);
    },

    async artifactTotals(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call({ ...targetOf('GET /v1/admin/artifact-totals'), query }, options);
    },

    async check(options) {
      const request = { ...targetOf('GET /v1/admin/check'), query: pageIn(options) };
      return transport.call(request, options);
    },

    async readPause(pauseId, options) {
      const to = targetOf('GET /v1/admin/pauses/{pauseId}', { pauseId });
      return transport.find({ ...to, query: tenantIn(options) }, options);
    },

    async putPause(pause, options) {
      checkObject(pause, 'pause');
      const body = bodyOf(pause, documentBytes);
      const write = transport.writeOf('admin', 'putPause', [pause, options]);
      const request = { ...targetOf('POST /v1/admin/pauses'), query: tenantIn(options), body, write };
      return (await transport.call(request, options)).put;
    },

    async eraseTenant(tenantId, options) {
      const to = targetOf('DELETE /v1/admin/tenants/{tenantId}', { tenantId });
      checkTenant(transport, tenantId);
      const write = transport.writeOf('admin', 'eraseTenant', [tenantId, options]);
      return erase({ ...to, query: { step: true }, write }, options);
    },

    async eraseSession(sessionId, options) {
      const to = targetOf('DELETE /v1/admin/sessions/{sessionId}', { sessionId });
      const write = transport.writeOf('admin', 'eraseSession', [sessionId, options]);
      return erase({ ...to, query: { ...tenantIn(options), step: true }, write }, options);
    },
  };
}

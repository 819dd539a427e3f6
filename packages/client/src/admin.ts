/** The operator's calls over HTTP. */
import {
  type AdminStore,
  type CheckPage,
  checkId,
  checkLimit,
  checkObject,
  type ErasureOptions,
  type ErasureReport,
  invalidArgument,
  type Page,
  type PauseContent,
  type RemovedRun,
  type StoreLimits,
  type TenantPart,
} from '@tidemark/core/portable';
import type { Request, Transport } from './transport.ts';
import { bodyOf } from './wire/bodies.ts';
import { segmentOf } from './wire/segments.ts';
import { checkTenant, tenantIn as tenantOf } from './wire/tenants.ts';

export function httpAdmin(transport: Transport, { documentBytes }: StoreLimits): AdminStore {
  const tenantIn = (options: { tenantId?: string } | undefined) => tenantOf(transport, options);
  const pageIn = (options: { limit?: number; cursor?: string } | undefined) => ({
    limit: checkLimit(options?.limit, 100, 1_000),
    cursor: options?.cursor,
  });

  /** Step by step, so that no request takes long and an abort takes effect between two of them. */
  const erase = async (request: Request, options: ErasureOptions | undefined): Promise<ErasureReport> => {
    const removed: ErasureReport['removed'] = {};
    const onProgress = options?.onProgress;
    if (onProgress !== undefined && typeof onProgress !== 'function')
      throw invalidArgument('onProgress', 'a function', onProgress);
    for (;;) {
      const { isDone, report } = await transport.step<ErasureReport>(request, options);
      for (const part of Object.keys(report.removed) as TenantPart[])
        removed[part] = (removed[part] ?? 0) + report.removed[part]!;
      if (isDone) return { ...report, removed };
      onProgress?.({ ...report, removed: { ...removed } });
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

    async listRemovedRuns(options) {
      const query = { ...pageIn(options), ...tenantIn(options) };
      return transport.call<Page<RemovedRun>>({ method: 'GET', path: '/v1/admin/removed-runs', query }, options);
    },

    async check(options) {
      const request = { method: 'GET', path: '/v1/admin/check', query: pageIn(options) } as const;
      return transport.call<CheckPage>(request, options);
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
      checkTenant(transport, tenantId);
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

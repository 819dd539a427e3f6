/** The tenancy engine of a composed store: routes each call to the engine that stores the part. */
import type { TenantPart } from '@tidemark/core';
import type { TenancyEngine } from '@tidemark/core/engine';

export function composeTenancy(of: (part: TenantPart) => TenancyEngine, snapshots: TenancyEngine): TenancyEngine {
  return {
    tenants: (part, after, limit, call) => of(part).tenants(part, after, limit, call),
    async erase(part, tenantId, limit, call) {
      const removed = await of(part).erase(part, tenantId, limit, call);
      if (removed > 0 || part !== 'runs' || snapshots === of('runs')) return removed;
      // Snapshots on another engine are removed together with their runs and are not counted.
      while ((await snapshots.erase('runs', tenantId, limit, call)) > 0);
      return 0;
    },
    eraseTrace: (part, tenantId, traceId, limit, call) => of(part).eraseTrace(part, tenantId, traceId, limit, call),
    eraseBindings: (tenantId, routerSessionId, limit, call) =>
      of('bindings').eraseBindings(tenantId, routerSessionId, limit, call),
    erasePauses: (tenantId, sessionId, limit, call) => of('pauses').erasePauses(tenantId, sessionId, limit, call),
    removedRuns: (tenantId, after, limit, call) => of('runs').removedRuns(tenantId, after, limit, call),
    traces: (part, tenantId, after, limit, call) => of(part).traces(part, tenantId, after, limit, call),
  };
}

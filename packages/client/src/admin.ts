/** Operator calls over HTTP. */
import {
  type AdminStore,
  type ErasureOptions,
  type ErasureReport,
  invalidArgument,
  type TenantPart,
} from '@tidemark/core/portable';
import { type FormsOf, methodsOf, requestOf } from './calls.ts';
import type { Transport } from './transport.ts';

const FORMS = {
  listTenants: { route: 'GET /v1/admin/tenants', takes: [['options?', 'limit', 'cursor']] },
  listAllTraces: { route: 'GET /v1/admin/traces', takes: [['options?', 'limit', 'cursor', 'tenantId']] },
  listRemovedRuns: { route: 'GET /v1/admin/removed-runs', takes: [['options?', 'limit', 'cursor', 'tenantId']] },
  listArtifacts: { route: 'GET /v1/admin/artifacts', takes: [['options?', 'limit', 'cursor', 'tenantId']] },
  artifactTotals: { route: 'GET /v1/admin/artifact-totals', takes: [['options?', 'limit', 'cursor', 'tenantId']] },
  check: { route: 'GET /v1/admin/check', takes: [['options?', 'limit', 'cursor']] },
  readPause: { route: 'GET /v1/admin/pauses/{pauseId}', takes: ['pauseId', ['options?', 'tenantId']], finds: true },
  putPause: {
    route: 'POST /v1/admin/pauses',
    takes: [
      ['pause', '*'],
      ['options?', 'tenantId'],
    ],
    query: ['tenantId'],
    answer: 'put',
  },
} as const satisfies FormsOf<'admin'>;

const ERASURES = {
  eraseTenant: { route: 'DELETE /v1/admin/tenants/{tenantId}', takes: ['tenantId', ['options?']] },
  eraseSession: { route: 'DELETE /v1/admin/sessions/{sessionId}', takes: ['sessionId', ['options?', 'tenantId']] },
} as const satisfies FormsOf<'admin'>;

type EraseRoute = (typeof ERASURES)[keyof typeof ERASURES]['route'];

/** A step of an erasure, and whether it was the last. */
async function stepOf(response: Response): Promise<[isDone: boolean, report: ErasureReport]> {
  return [response.status !== 202, (await response.json()) as ErasureReport];
}

export function httpAdmin(transport: Transport): AdminStore {
  /** Erases in steps, so that no request takes long and an abort can take effect between steps. */
  const erasing =
    (method: keyof typeof ERASURES) =>
    async (id: string, options?: ErasureOptions): Promise<ErasureReport> => {
      const onProgress = options?.onProgress;
      if (onProgress !== undefined && typeof onProgress !== 'function')
        throw invalidArgument('onProgress', 'a function', onProgress);
      const request = requestOf<EraseRoute>(transport, 'admin', method, ERASURES[method], [id, options]);
      Object.assign(request.query!, { step: true });
      const removed: ErasureReport['removed'] = {};
      for (;;) {
        const [isDone, report] = await transport.read(request, options, stepOf);
        for (const part of Object.keys(report.removed) as TenantPart[])
          removed[part] = (removed[part] ?? 0) + report.removed[part]!;
        if (isDone) return { ...report, removed };
        onProgress?.({ ...report, removed: { ...removed } });
      }
    };

  return {
    ...methodsOf(transport, 'admin', FORMS),
    eraseTenant: erasing('eraseTenant'),
    eraseSession: erasing('eraseSession'),
  };
}

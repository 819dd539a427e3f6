/**
 * Quarantined runs. A caller that may read runs may list its own damaged runs. Like removing and redacting, releasing a
 * run requires the scope `admin`, because a release decides which events all consumers of the run receive next.
 * Releases are recorded in the audit log.
 */
import { QUARANTINE_ROUTES } from '@tidemark/wire/routes';
import { json } from '../http/answer.ts';
import { bind } from './route.ts';

export const QUARANTINE_HANDLERS = bind(QUARANTINE_ROUTES, {
  'GET /v1/quarantines': async ({ store, query, options }) => {
    const { tenantId, state, cursor, limit } = query;
    return json(await store.runs.listQuarantined({ ...options, tenantId, state, cursor, limit }));
  },
  'POST /v1/runs/{runId}/release': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    return json(await store.runs.releaseRun(params.runId, { ...options, tenantId }));
  },
});

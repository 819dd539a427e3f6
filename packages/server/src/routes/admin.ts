/** Routes for operators. */
import type { ErasureOptions } from '@tidemark/core';
import { ADMIN_ROUTES } from '@tidemark/wire/routes';
import { json } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { eraseStep } from './erasure.ts';
import { bind } from './route.ts';

export const ADMIN_HANDLERS = bind(ADMIN_ROUTES, {
  'GET /v1/admin/tenants': async ({ store, query, options }) => {
    const { cursor, limit } = query;
    return json(await store.admin.listTenants({ ...options, cursor, limit }));
  },
  'GET /v1/admin/traces': async ({ store, query, options }) => {
    const { tenantId, cursor, limit } = query;
    return json(await store.admin.listAllTraces({ ...options, tenantId, cursor, limit }));
  },
  'GET /v1/admin/removed-runs': async ({ store, query, options }) => {
    const { tenantId, cursor, limit } = query;
    return json(await store.admin.listRemovedRuns({ ...options, tenantId, cursor, limit }));
  },
  'GET /v1/admin/artifacts': async ({ store, query, options }) => {
    const { tenantId, cursor, limit } = query;
    return json(await store.admin.listArtifacts({ ...options, tenantId, cursor, limit }));
  },
  'GET /v1/admin/artifact-totals': async ({ store, query, options }) => {
    const { tenantId, cursor, limit } = query;
    return json(await store.admin.artifactTotals({ ...options, tenantId, cursor, limit }));
  },
  'GET /v1/admin/check': async ({ store, query, options }) => {
    const { cursor, limit } = query;
    return json(await store.admin.check({ ...options, cursor, limit }));
  },
  'GET /v1/admin/pauses/{pauseId}': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    const pause = await store.admin.readPause(params.pauseId, { ...options, tenantId });
    if (pause) return json(pause);
    throw new Refusal(404, 'NOT_FOUND', 'There is no waiting pause with this id');
  },
  'POST /v1/admin/pauses': async ({ store, query, body, options }) => {
    const { tenantId } = query;
    return json({ put: await store.admin.putPause(body, { ...options, tenantId }) });
  },
  'DELETE /v1/admin/tenants/{tenantId}': async ({ store, params, query, options }) => {
    const erase = (more: ErasureOptions) => store.admin.eraseTenant(params.tenantId, { ...options, ...more });
    return query.step ? eraseStep(erase) : json(await erase({}));
  },
  'DELETE /v1/admin/sessions/{sessionId}': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    const erase = (more: ErasureOptions) =>
      store.admin.eraseSession(params.sessionId, { ...options, tenantId, ...more });
    return query.step ? eraseStep(erase) : json(await erase({}));
  },
});

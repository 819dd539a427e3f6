/** What only an operator does. */
import type { ErasureOptions, PauseContent } from '@tidemark/core';
import Type from 'typebox';
import { json } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { PauseInfo } from '../schemas/agents.ts';
import { Id, Json, pageOf, pageQuery, Time } from '../schemas/common.ts';
import { eraseStep } from './erasure.ts';
import { route } from './route.ts';

interface TenantQuery {
  tenantId?: string;
}

interface StepQuery {
  step?: boolean;
}

const STEP = { step: Type.Optional(Type.Boolean()) };
const TENANT = { tenantId: Type.Optional(Id) };
const PauseContentSchema = Type.Intersect([PauseInfo, Type.Object({ payload: Json })]);
const RemovedRun = Type.Object(
  {
    tenantId: Id,
    runId: Id,
    kind: Type.Enum(['deleted', 'archived']),
    at: Time,
    location: Type.Optional(Type.String()),
  },
  { title: 'RemovedRun' },
);
const CheckPage = Type.Object(
  {
    checked: Type.Integer(),
    unsummed: Type.Integer(),
    damaged: Type.Array(Type.Object({ tenantId: Id, part: Type.String(), name: Type.String(), reason: Type.String() })),
    next: Type.Optional(Type.String()),
  },
  { title: 'CheckPage' },
);
const ErasureReport = Type.Object({
  tenantId: Id,
  sessionId: Type.Optional(Id),
  removed: Type.Record(Type.String(), Type.Integer()),
});

export const ADMIN_ROUTES = [
  route<{ cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/admin/tenants',
      scope: 'admin',
      summary: 'Tenants that have anything here',
      query: pageQuery({}),
      answers: { 200: pageOf(Id) },
    },
    async ({ store, query, options }) => {
      const { cursor, limit } = query;
      return json(await store.admin.listTenants({ ...options, cursor, limit }));
    },
  ),
  route<TenantQuery & { cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/admin/traces',
      scope: 'admin',
      summary: 'Traces of a tenant',
      query: pageQuery(TENANT),
      answers: { 200: pageOf(Id) },
    },
    async ({ store, query, options }) => {
      const { tenantId, cursor, limit } = query;
      return json(await store.admin.listTraces({ ...options, tenantId, cursor, limit }));
    },
  ),
  route<TenantQuery & { cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/admin/removed-runs',
      scope: 'admin',
      summary: 'Runs of a tenant that were deleted or archived',
      query: pageQuery(TENANT),
      answers: { 200: pageOf(RemovedRun) },
    },
    async ({ store, query, options }) => {
      const { tenantId, cursor, limit } = query;
      return json(await store.admin.listRemovedRuns({ ...options, tenantId, cursor, limit }));
    },
  ),
  route<{ cursor?: string; limit?: number }>(
    {
      method: 'GET',
      path: '/v1/admin/check',
      scope: 'admin',
      summary: 'Compare some of what is stored with its chains and checksums',
      query: pageQuery({}),
      answers: { 200: CheckPage },
    },
    async ({ store, query, options }) => {
      const { cursor, limit } = query;
      return json(await store.admin.check({ ...options, cursor, limit }));
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/admin/pauses/{pauseId}',
      scope: 'admin',
      summary: 'A pause that waits, with what it holds, without consuming it',
      query: Type.Object(TENANT),
      answers: { 200: PauseContentSchema },
      problems: ['NOT_FOUND', 'CODEC_FAILED'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      const pause = await store.admin.readPause(params.pauseId!, { ...options, tenantId });
      if (pause) return json(pause);
      throw new Refusal(404, 'NOT_FOUND', 'There is no pause of this id that waits');
    },
  ),
  route<TenantQuery, PauseContent>(
    {
      method: 'POST',
      path: '/v1/admin/pauses',
      scope: 'admin',
      summary: 'Let a pause that was read elsewhere wait here, for the same token, or be consumed here as it was there',
      query: Type.Object(TENANT),
      body: PauseContentSchema,
      storeChecksBody: true,
      answers: { 200: Type.Object({ put: Type.Boolean() }) },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, query, body, options }) => {
      const { tenantId } = query;
      return json({ put: await store.admin.putPause(body, { ...options, tenantId }) });
    },
  ),
  route<StepQuery>(
    {
      method: 'DELETE',
      path: '/v1/admin/tenants/{tenantId}',
      scope: 'admin',
      summary: 'Remove everything of a tenant; with step=true a part of it, until the answer is 200',
      query: Type.Object(STEP),
      answers: { 200: ErasureReport, 202: ErasureReport },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options }) => {
      const erase = (more: ErasureOptions) => store.admin.eraseTenant(params.tenantId!, { ...options, ...more });
      return query.step ? eraseStep(erase) : json(await erase({}));
    },
  ),
  route<TenantQuery & StepQuery>(
    {
      method: 'DELETE',
      path: '/v1/admin/sessions/{sessionId}',
      scope: 'admin',
      summary:
        'Remove everything of a session, its traces and artifacts; with step=true a part of it, until the answer is 200',
      query: Type.Object({ ...TENANT, ...STEP }),
      answers: { 200: ErasureReport, 202: ErasureReport },
      problems: ['OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      const erase = (more: ErasureOptions) =>
        store.admin.eraseSession(params.sessionId!, { ...options, tenantId, ...more });
      return query.step ? eraseStep(erase) : json(await erase({}));
    },
  ),
];

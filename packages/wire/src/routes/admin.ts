/** What only an operator does. */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { PauseInfo } from '../schemas/agents.ts';
import { Id, Json, pageOf, pageQuery, shapeOf, Time } from '../schemas/common.ts';
import { routes } from './route.ts';

const STEP = { step: Type.Optional(Type.Boolean()) };

const TENANT = { tenantId: Type.Optional(Id) };

const PauseContentSchema = Type.Unsafe<Contract.PauseContent>(
  Type.Intersect([PauseInfo, Type.Object({ payload: Json })]),
);

const RemovedRun = shapeOf<Contract.RemovedRun>()(
  {
    tenantId: Id,
    runId: Id,
    kind: Type.Enum(['deleted', 'archived']),
    at: Time,
    location: Type.Optional(Type.String()),
  },
  { title: 'RemovedRun' },
);

const CheckPage = shapeOf<Contract.CheckPage>()(
  {
    checked: Type.Integer(),
    unsummed: Type.Integer(),
    damaged: Type.Array(Type.Object({ tenantId: Id, part: Type.String(), name: Type.String(), reason: Type.String() })),
    next: Type.Optional(Type.String()),
  },
  { title: 'CheckPage' },
);

const ErasureReport = shapeOf<Contract.ErasureReport>()({
  tenantId: Id,
  sessionId: Type.Optional(Id),
  removed: Type.Record(Type.String(), Type.Integer()),
});

export const ADMIN_ROUTES = routes({
  'GET /v1/admin/tenants': {
    scope: 'admin',
    summary: 'Tenants that have anything here',
    query: pageQuery({}),
    answers: { 200: pageOf(Id) },
  },
  'GET /v1/admin/traces': {
    scope: 'admin',
    summary: 'Traces of a tenant',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(Id) },
  },
  'GET /v1/admin/removed-runs': {
    scope: 'admin',
    summary: 'Runs of a tenant that were deleted or archived',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(RemovedRun) },
  },
  'GET /v1/admin/check': {
    scope: 'admin',
    summary: 'Compare some of what is stored with its chains and checksums',
    query: pageQuery({}),
    answers: { 200: CheckPage },
  },
  'GET /v1/admin/pauses/{pauseId}': {
    scope: 'admin',
    summary: 'A pause that waits, with what it holds, without consuming it',
    query: Type.Object(TENANT),
    answers: { 200: PauseContentSchema },
    problems: ['NOT_FOUND', 'CODEC_FAILED'],
  },
  'POST /v1/admin/pauses': {
    scope: 'admin',
    summary: 'Let a pause that was read elsewhere wait here, for the same token, or be consumed here as it was there',
    query: Type.Object(TENANT),
    body: PauseContentSchema,
    storeChecksBody: true,
    answers: { 200: Type.Object({ put: Type.Boolean() }) },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'DELETE /v1/admin/tenants/{tenantId}': {
    scope: 'admin',
    summary: 'Remove everything of a tenant; with step=true a part of it, until the answer is 200',
    query: Type.Object(STEP),
    answers: { 200: ErasureReport, 202: ErasureReport },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'DELETE /v1/admin/sessions/{sessionId}': {
    scope: 'admin',
    summary:
      'Remove everything of a session, its traces and artifacts; with step=true a part of it, until the answer is 200',
    query: Type.Object({ ...TENANT, ...STEP }),
    answers: { 200: ErasureReport, 202: ErasureReport },
    problems: ['OUTCOME_UNKNOWN'],
  },
});

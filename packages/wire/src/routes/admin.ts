/** Routes for operators. */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { PauseInfo } from '../schemas/agents.ts';
import { Scope } from '../schemas/artifacts.ts';
import { Id, Json, pageOf, pageQuery, shapeOf, Time } from '../schemas/common.ts';
import { Life } from '../schemas/runs.ts';
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
    life: Life,
  },
  { title: 'RemovedRun' },
);

const StoredArtifact = shapeOf<Contract.StoredArtifact>()(
  {
    tenantId: Id,
    id: Id,
    mimeType: Type.Union([Type.String(), Type.Null()]),
    sizeBytes: Type.Integer(),
    filename: Type.Union([Type.String(), Type.Null()]),
    scope: Scope,
    namespace: Type.Union([Type.String(), Type.Null()]),
    createdAt: Time,
    expiresAt: Type.Union([Time, Type.Null()]),
  },
  { title: 'StoredArtifact' },
);

const ArtifactTotals = shapeOf<Contract.ArtifactTotals>()(
  { tenantId: Id, references: Type.Integer(), blobs: Type.Integer(), bytes: Type.Integer() },
  { title: 'ArtifactTotals' },
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
    summary: 'List tenants that have stored data',
    query: pageQuery({}),
    answers: { 200: pageOf(Id) },
  },
  'GET /v1/admin/traces': {
    scope: 'admin',
    summary: 'List the traces of a tenant',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(Id) },
  },
  'GET /v1/admin/removed-runs': {
    scope: 'admin',
    summary: 'List deleted and archived runs of a tenant',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(RemovedRun) },
  },
  'GET /v1/admin/artifacts': {
    scope: 'admin',
    summary: 'List the artifacts of a tenant, or of all tenants',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(StoredArtifact) },
  },
  'GET /v1/admin/artifact-totals': {
    scope: 'admin',
    summary: 'Count the artifacts of a tenant, or of each tenant',
    query: pageQuery(TENANT),
    answers: { 200: pageOf(ArtifactTotals) },
  },
  'GET /v1/admin/check': {
    scope: 'admin',
    summary: 'Verify a page of stored data against its chains and checksums',
    query: pageQuery({}),
    answers: { 200: CheckPage },
  },
  'GET /v1/admin/pauses/{pauseId}': {
    scope: 'admin',
    summary: 'Get a waiting pause with its content, without consuming it',
    query: Type.Object(TENANT),
    answers: { 200: PauseContentSchema },
    problems: ['NOT_FOUND', 'CODEC_FAILED'],
  },
  'POST /v1/admin/pauses': {
    scope: 'admin',
    summary: 'Store a pause from another store under the same token, as consumed if it was consumed there',
    query: Type.Object(TENANT),
    body: PauseContentSchema,
    storeChecksBody: true,
    answers: { 200: Type.Object({ put: Type.Boolean() }) },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'DELETE /v1/admin/tenants/{tenantId}': {
    scope: 'admin',
    summary: 'Remove all data of a tenant; with step=true, in parts until the status is 200',
    query: Type.Object(STEP),
    answers: { 200: ErasureReport, 202: ErasureReport },
    problems: ['OUTCOME_UNKNOWN'],
  },
  'DELETE /v1/admin/sessions/{sessionId}': {
    scope: 'admin',
    summary: 'Remove all data of a session, its traces and artifacts; with step=true, in parts until the status is 200',
    query: Type.Object({ ...TENANT, ...STEP }),
    answers: { 200: ErasureReport, 202: ErasureReport },
    problems: ['OUTCOME_UNKNOWN'],
  },
});

/** Server information, health and metrics. */
import type { DoctorReport, StoreInfo } from '@tidemark/core/portable';
import Type from 'typebox';
import { Json, jsonOf, shapeOf } from '../schemas/common.ts';
import { routes } from './route.ts';

const Live = Type.Object({ ok: Type.Boolean() });

const Info = shapeOf<StoreInfo & { wireVersion?: number }>()(
  {
    backend: Type.String(),
    version: Type.String(),
    contractVersion: Type.String(),
    capabilities: Type.Record(Type.String(), Type.Boolean()),
    durability: Type.String(),
    clock: Type.Optional(
      Type.Union([Type.Literal('server'), Type.Literal('process'), Type.Literal('unknown')], {
        description: 'Whose clock stamps `persistedAt` and ends leases; absent in version 0.1',
      }),
    ),
    limits: Json,
    encrypts: Type.Optional(
      Type.Boolean({ description: 'Whether fields of records can be sealed; absent in version 0.1' }),
    ),
    tenantId: Type.Optional(Type.String()),
    wireVersion: Type.Optional(Type.Integer({ description: 'Version of the names; absent in version 0.1' })),
  },
  { title: 'StoreInfo' },
);

const LoopsReport = Type.Object(
  {
    running: Type.Boolean({ description: 'False if this server runs no loops' }),
    projector: Type.Optional(Json),
    sweeps: Type.Optional(Json),
    deadLetters: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    alerts: Type.Optional(Type.Record(Type.String(), Type.Integer())),
  },
  { title: 'LoopsReport' },
);

export const INFO_ROUTES = routes({
  'GET /healthz': {
    scope: null,
    summary: 'Check that the process responds',
    answers: { 200: Live },
  },
  'GET /readyz': {
    scope: null,
    summary: 'Check that the store responds and accepts writes, and that the server accepts work',
    answers: { 200: Live },
    problems: ['UNAVAILABLE'],
  },
  'GET /metrics': {
    scope: 'metrics:read',
    summary:
      'Get counters and timings in the Prometheus text format; only for operators, because they cover all tenants',
    answers: { 200: null },
    produces: ['text/plain'],
  },
  'GET /openapi.json': {
    scope: null,
    summary: 'Get this OpenAPI document',
    answers: { 200: Json },
  },
  'GET /errors': {
    scope: null,
    summary: 'Get the page that explains each error code; the type of a problem links to it',
    answers: { 200: null },
    produces: ['text/html'],
  },
  'GET /v1/info': {
    scope: 'store:read',
    summary: 'Get the engine, capabilities, limits and durability of the store',
    answers: { 200: Info },
    confinesSession: true,
  },
  'GET /v1/ping': {
    scope: 'store:read',
    summary: 'Check that the engine responds',
    answers: { 200: Live },
    confinesSession: true,
  },
  'GET /v1/loops': {
    scope: 'metrics:read',
    summary:
      "Get the state of this server's projector and sweeper; only for operators, because they work for all tenants",
    answers: { 200: LoopsReport },
  },
  'GET /v1/doctor': {
    scope: 'admin',
    summary: "List every setting that weakens the store's guarantees, and how to fix it",
    query: Type.Object({ storage: Type.Optional(Type.Boolean()) }),
    answers: { 200: jsonOf<DoctorReport>() },
  },
});

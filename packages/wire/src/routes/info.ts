/** What the server is, how it is doing, and what its store promises. */
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
    limits: Json,
    tenantId: Type.Optional(Type.String()),
    wireVersion: Type.Optional(Type.Integer({ description: 'Which names routes use; absent in version 0.1' })),
  },
  { title: 'StoreInfo' },
);

const LoopsReport = Type.Object(
  {
    running: Type.Boolean({ description: 'False on a server that runs none' }),
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
    summary: 'Whether the process answers',
    answers: { 200: Live },
  },
  'GET /readyz': {
    scope: null,
    summary: 'Whether the store answers and takes writes, and the server takes work',
    answers: { 200: Live },
    problems: ['UNAVAILABLE'],
  },
  'GET /metrics': {
    scope: 'metrics:read',
    summary: 'Counts and times in the text format of Prometheus; for operators, as they tell of all tenants',
    answers: { 200: null },
    gives: ['text/plain'],
  },
  'GET /openapi.json': {
    scope: null,
    summary: 'This document',
    answers: { 200: Json },
  },
  'GET /errors': {
    scope: null,
    summary: 'What each code means and what to do about it: where the type of a problem points',
    answers: { 200: null },
    gives: ['text/html'],
  },
  'GET /v1/info': {
    scope: 'store:read',
    summary: 'What the store is and can do',
    answers: { 200: Info },
    confinesSession: true,
  },
  'GET /v1/ping': {
    scope: 'store:read',
    summary: 'Whether the engine answers',
    answers: { 200: Live },
    confinesSession: true,
  },
  'GET /v1/loops': {
    scope: 'metrics:read',
    summary: 'How the projector and the sweeper of this server are doing; for operators, as they work for all tenants',
    answers: { 200: LoopsReport },
  },
  'GET /v1/doctor': {
    scope: 'admin',
    summary: 'Every setting that weakens what the store promises, and how to mend it',
    query: Type.Object({ storage: Type.Optional(Type.Boolean()) }),
    answers: { 200: jsonOf<DoctorReport>() },
  },
});

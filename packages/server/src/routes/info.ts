/** What the server is, how it is doing, and what its store promises. */
import { CONTRACT_VERSION, ERROR_CODES } from '@tidemark/core';
import Type from 'typebox';
import { ANSWERED, json } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { sendMetrics } from '../metrics.ts';
import { Json } from '../schemas/common.ts';
import { route } from './route.ts';

const Live = Type.Object({ ok: Type.Boolean() });
const Info = Type.Object(
  {
    backend: Type.String(),
    version: Type.String(),
    contractVersion: Type.String(),
    capabilities: Type.Record(Type.String(), Type.Boolean()),
    durability: Type.String(),
    limits: Json,
    tenantId: Type.Optional(Type.String()),
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

/** What a store loses on its way over HTTP: transactions, projections and codecs are objects of the process that has them. */
const LOCAL_ONLY = { 'runs.transactions': false, 'runs.inlineProjections': false, payloadCodec: false };

export const INFO_ROUTES = [
  route(
    { method: 'GET', path: '/healthz', scope: null, summary: 'Whether the process answers', answers: { 200: Live } },
    () => json({ ok: true }),
  ),
  route(
    {
      method: 'GET',
      path: '/readyz',
      scope: null,
      summary: 'Whether the store answers and takes writes, and the server takes work',
      answers: { 200: Live },
      problems: ['UNAVAILABLE'],
    },
    async ({ services }) => {
      const reason = await services.notReady();
      if (reason === null) return json({ ok: true });
      throw new Refusal(503, 'UNAVAILABLE', reason);
    },
  ),
  route(
    {
      method: 'GET',
      path: '/metrics',
      scope: 'metrics:read',
      summary: 'Counts and times in the text format of Prometheus; for operators, as they tell of all tenants',
      answers: { 200: null },
      gives: ['text/plain'],
    },
    ({ principal, response, services }) => {
      if (principal.tenantId !== null)
        throw new Refusal(403, 'FORBIDDEN', 'Metrics tell of all tenants', { field: 'tenantId', rule: 'an operator' });
      sendMetrics(response, services.metrics);
      return ANSWERED;
    },
  ),
  route(
    { method: 'GET', path: '/openapi.json', scope: null, summary: 'This document', answers: { 200: Json } },
    ({ services }) => json(services.document),
  ),
  route(
    {
      method: 'GET',
      path: '/errors',
      scope: null,
      summary: 'What each code means and what to do about it: where the type of a problem points',
      answers: { 200: null },
      gives: ['text/html'],
    },
    ({ response }) => {
      const rules = "default-src 'none'; frame-ancestors 'none'";
      const head = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': rules };
      response.writeHead(200, { ...head, 'referrer-policy': 'no-referrer' }).end(ERRORS_PAGE);
      return ANSWERED;
    },
  ),
  route(
    {
      method: 'GET',
      path: '/v1/info',
      scope: 'store:read',
      summary: 'What the store is and can do',
      answers: { 200: Info },
      confinesSession: true,
    },
    ({ store: { info } }) => json({ ...info, capabilities: { ...info.capabilities, ...LOCAL_ONLY } }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/ping',
      scope: 'store:read',
      summary: 'Whether the engine answers',
      answers: { 200: Live },
      confinesSession: true,
    },
    async ({ store, options }) => json({ ok: await store.ping(options) }),
  ),
  route(
    {
      method: 'GET',
      path: '/v1/loops',
      scope: 'metrics:read',
      summary:
        'How the projector and the sweeper of this server are doing; for operators, as they work for all tenants',
      answers: { 200: LoopsReport },
    },
    ({ principal, services }) => {
      if (principal.tenantId !== null)
        throw new Refusal(403, 'FORBIDDEN', 'The loops work for all tenants', {
          field: 'tenantId',
          rule: 'an operator',
        });
      const status = services.loops.status();
      return json(status === null ? { running: false } : { running: true, ...status });
    },
  ),
  route<{ storage?: boolean }>(
    {
      method: 'GET',
      path: '/v1/doctor',
      scope: 'admin',
      summary: 'Every setting that weakens what the store promises, and how to mend it',
      query: Type.Object({ storage: Type.Optional(Type.Boolean()) }),
      answers: { 200: Json },
    },
    async ({ store, principal, query, options }) => {
      // It names files and settings of the machine, which are no tenant's.
      if (principal.tenantId === null) return json(await store.doctor({ ...options, ...query }));
      throw new Refusal(403, 'FORBIDDEN', 'Only an operator may ask the doctor', { field: 'tenant', rule: 'none' });
    },
  ),
];

const ERRORS_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidemark errors</title>
<h1>Errors of Tidemark ${CONTRACT_VERSION}</h1><dl>${Object.entries(ERROR_CODES)
  .map(([code, { meaning, remedy }]) => `<dt id="${code}">${code}</dt><dd>${meaning} ${remedy}</dd>`)
  .join('\n')}</dl></html>`;

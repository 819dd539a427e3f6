/** Server information, health and metrics. */
import { CONTRACT_VERSION, ERROR_CODES } from '@tidemark/core';
import { WIRE_VERSION } from '@tidemark/wire';
import { INFO_ROUTES } from '@tidemark/wire/routes';
import { UNORDERED } from '../hiding/revisions.ts';
import { ANSWERED, json } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { sendMetrics } from '../metrics.ts';
import { bind } from './route.ts';

/** Capabilities that do not work over HTTP, because transactions, projections and codecs are objects in one process. */
const LOCAL_ONLY = { 'runs.transactions': false, 'runs.inlineProjections': false, payloadCodec: false };

const ERRORS_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tidemark errors</title>
<h1>Errors of Tidemark ${CONTRACT_VERSION}</h1><dl>${Object.entries(ERROR_CODES)
  .map(([code, { meaning, remedy }]) => `<dt id="${code}">${code}</dt><dd>${meaning} ${remedy}</dd>`)
  .join('\n')}</dl></html>`;

export const INFO_HANDLERS = bind(INFO_ROUTES, {
  'GET /healthz': () => json({ ok: true }),
  'GET /readyz': async ({ services }) => {
    const reason = await services.notReady();
    if (reason === null) return json({ ok: true });
    throw new Refusal(503, 'UNAVAILABLE', reason);
  },
  'GET /metrics': ({ principal, response, services }) => {
    if (principal.tenantId !== null)
      throw new Refusal(403, 'FORBIDDEN', 'Metrics cover all tenants', { field: 'tenantId', rule: 'an operator' });
    sendMetrics(response, services.metrics);
    return ANSWERED;
  },
  'GET /openapi.json': ({ services }) => json(services.document),
  'GET /errors': ({ response }) => {
    const rules = "default-src 'none'; frame-ancestors 'none'";
    const head = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': rules };
    response.writeHead(200, { ...head, 'referrer-policy': 'no-referrer' }).end(ERRORS_PAGE);
    return ANSWERED;
  },
  'GET /v1/info': ({ store: { info }, services }) => {
    // The views of an operator's client have the capabilities that the operator has read.
    const unordered = services.hidesRevisions ? UNORDERED : {};
    const capabilities = { ...info.capabilities, ...LOCAL_ONLY, ...unordered };
    return json({ ...info, capabilities, wireVersion: WIRE_VERSION });
  },
  'GET /v1/ping': async ({ store, options }) => json({ ok: await store.ping(options) }),
  'GET /v1/loops': ({ principal, services }) => {
    if (principal.tenantId !== null)
      throw new Refusal(403, 'FORBIDDEN', 'The loops work for all tenants', {
        field: 'tenantId',
        rule: 'an operator',
      });
    const status = services.loops.status();
    return json(status === null ? { running: false } : { running: true, ...status });
  },
  'GET /v1/doctor': async ({ store, principal, query, options }) => {
    // Only operators get the whole report, because it contains files and settings of the machine, which tenants must
    // not see.
    if (principal.tenantId === null) return json(await store.doctor({ ...options, ...query }));
    throw new Refusal(403, 'FORBIDDEN', 'Only an operator may ask the doctor', { field: 'tenant', rule: 'none' });
  },
});

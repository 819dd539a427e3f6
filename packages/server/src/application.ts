/**
 * Handles a request: finds its route, authenticates the caller, reads and checks the body, calls the handler, responds.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type CallOptions, invalidArgument } from '@tidemark/core';
import { isPlainObject } from '@tidemark/core/portable';
import { idOfSegment, JSON_TYPE, LINES, renamedIn, TENANT_HEADER, TIMEOUT_HEADER } from '@tidemark/wire';
import Type, { type TObject, type TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { Audit } from './audit/audit.ts';
import { entryOf, isAudited, type RefusalRation, statusOf } from './audit/requests.ts';
import { type Admission, NOBODY } from './auth/admission.ts';
import type { Holds } from './auth/holds.ts';
import type { Principal } from './auth.ts';
import { ANSWERED, type Answer, longListSlices, sendAnswer } from './http/answer.ts';
import { contentTypeOf, drain, parseJson, readBody, refuseEncoded } from './http/body.ts';
import { beginExchange, type Exchange, FailureLog } from './http/exchange.ts';
import { problemOf, sendProblem } from './http/problems.ts';
import { parseQuery } from './http/query.ts';
import { Refusal } from './http/refusal.ts';
import { type Match, Router } from './http/router.ts';
import { accountOf } from './limits/account.ts';
import type { MemoryLease } from './limits/memory-budget.ts';
import { blockOf, chargeScan, heavyBytes, heavyList, rowsOf } from './limits/pacing.ts';
import { COST } from './limits/shares.ts';
import type { Logger } from './logger.ts';
import { shortName } from './redaction.ts';
import type { Call, Route, Services } from './routes/route.ts';
import type { SecurityKind, SecurityLog } from './security-log.ts';
import type { Views } from './views.ts';

/** The tenant parameter, which every route with an authenticated caller accepts. */
const TENANT_PARAMETER = Type.Object({
  tenant: Type.Optional(
    Type.String({ description: 'Operators only: the tenant to act for. Also as header Tidemark-Tenant.' }),
  ),
});

interface MountedRoute {
  route: Route;
  /** Name of the route in the metrics. */
  name: string;
  query: TObject;
  checkQuery: Validator;
  /** Whether the route has no required parameter. */
  mayAskNothing: boolean;
  /** Whether requests or responses of the route may stay open for long. */
  mayLast: boolean;
  /** Whether the route reads a page of a list. */
  isList: boolean;
  /** Throws for an invalid body. */
  checkBody: ((body: unknown) => void) | null;
  /** Whether the body may contain values of any shape. */
  isFree: boolean;
  /** Maps member names of older versions to the current names. */
  renamed: ReadonlyMap<string, string> | null;
}

export interface ApplicationParts {
  routes: readonly Route[];
  views: Views;
  admission: Admission;
  /** `null` without auth, because there are no callers to record. */
  audit: Audit | null;
  holds: Holds;
  security: SecurityLog;
  refusals: RefusalRation;
  services: Services;
  logger: Logger;
}

export class Application {
  readonly #router = new Router<MountedRoute>();
  readonly #parts: ApplicationParts;
  readonly #failures: FailureLog;
  /** Number of requests in progress. */
  active = 0;

  constructor(parts: ApplicationParts) {
    this.#parts = parts;
    this.#failures = new FailureLog(parts.logger);
    for (const route of parts.routes) this.#router.add(route.method, route.path, mount(route));
  }

  /** Handles a request. Never throws. */
  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const started = performance.now();
    this.active++;
    const done = (name: string, status: number) => {
      this.active--;
      drain(request);
      this.#parts.services.metrics.observe(name, status, (performance.now() - started) / 1_000);
    };
    // An error handler is required. A broken socket is detected when the response is written.
    response.on('error', () => {});
    const found = this.#find(request);
    if (found instanceof Refusal) {
      done('UNKNOWN', sendProblem(response, this.#strangerRefusalOr(found, request)));
      return;
    }
    const { route, name } = found.mounted;
    const exchange = beginExchange(response, this.#failures);
    exchange.route = route.path;
    this.#serve(found.mounted, found.match, found.query, request, response, exchange).then(
      (status) => done(name, status),
      (error) => {
        done(name, sendProblem(response, error));
      },
    );
  };

  /** Refuses a caller without a valid credential first, so that such a caller cannot learn which paths exist. */
  #strangerRefusalOr(refusal: Refusal, request: IncomingMessage): unknown {
    try {
      this.#parts.admission.refuseForeignHosts(request);
      return refusal;
    } catch (refusal) {
      return refusal;
    }
  }

  #find(request: IncomingMessage): { mounted: MountedRoute; match: Match<MountedRoute>; query: string } | Refusal {
    const url = request.url!;
    const mark = url.indexOf('?');
    const match = this.#router.find(mark < 0 ? url : url.slice(0, mark));
    if (!match)
      return new Refusal(404, 'UNSUPPORTED', 'There is nothing at this path; /openapi.json lists what there is');
    const method = request.method === 'HEAD' ? 'GET' : request.method!;
    const mounted = match.methods.get(method);
    if (mounted) return { mounted, match, query: mark < 0 ? '' : url.slice(mark + 1) };
    const allow = [...match.methods.keys()].join(', ');
    return new Refusal(405, 'UNSUPPORTED', `This path takes ${allow}`, { field: 'method', rule: allow }, { allow });
  }

  async #serve(
    mounted: MountedRoute,
    match: Match<MountedRoute>,
    queryText: string,
    request: IncomingMessage,
    response: ServerResponse,
    exchange: Exchange,
  ): Promise<number> {
    const { route } = mounted;
    const { admission } = this.#parts;
    admission.refuseForeignHosts(request);
    const asked: Asked = { mounted, match, queryText, request, response, principal: NOBODY, isBegun: false };
    if (route.scope === null) return this.#answer(this.#admitted(asked));
    const known = admission.identify(request);
    asked.principal = known instanceof Promise ? await known : known;
    exchange.isByAdmin = asked.principal.scopes.includes('admin');
    try {
      admission.confine(asked.principal, request, response, route.scope);
      return await this.#takeTurn(this.#admitted(asked));
    } catch (error) {
      if (error instanceof Refusal || route.scope === 'admin') await this.#noteRefusal(asked, error);
      throw error;
    }
  }

  /** Parses the parameters of a request and determines its tenant. */
  #admitted(asked: Asked): Admitted {
    const { mounted, match, queryText, request, principal } = asked;
    const query = mounted.mayAskNothing && queryText === '' ? NO_PARAMETERS : queryOf(mounted, queryText);
    const params: Record<string, string> = {};
    for (const name in match.segments) params[name] = idOfSegment(match.segments[name]!, name);
    if (principal.sessionId !== undefined) confineToSession(mounted.route, principal.sessionId, params);
    return { asked, params, query, tenantId: tenantOf(principal, request, query) };
  }

  /** Logs a refusal, and audits it if an admin action was refused before it began. */
  async #noteRefusal({ mounted, match, principal, request, isBegun }: Asked, error: unknown): Promise<void> {
    const { security, audit, refusals } = this.#parts;
    const { code, field, rule } = problemOf(error);
    const details = { by: principal.id, tenant: principal.tenantId, route: mounted.name };
    const kind = error instanceof Refusal ? kindOf(error) : null;
    if (kind !== null) security.note(kind, request, { ...details, reason: String(kind === 'limit' ? field : rule) });
    if (!audit || isBegun || !isAudited(mounted.route)) return;
    security.note('admin_refused', request, { ...details, reason: code });
    const leftOut = refusals.take(principal);
    if (leftOut === null) return;
    await audit.refused(entryOf(mounted.route, principal, match.segments, {}, principal.tenantId), code, leftOut);
  }

  /** Not an async function, because every request passes through it and rarely waits. */
  #takeTurn(admitted: Admitted): Promise<number> {
    const { mounted, principal, request } = admitted.asked;
    const { services } = this.#parts;
    if (mounted.isList) services.callers?.admitScan(principal);
    const account = accountOf(principal);
    const heavy = heavyCostOf(mounted, admitted.query, request);
    if (heavy > 0) return this.#takeHeavyTurn(admitted, account, heavy);
    // Called before the body is read, so that bodies stay in their sockets while their tenant waits for its share.
    const turn = services.shares.enter(account, COST.request);
    return turn ? turn.then(() => this.#answer(admitted)) : this.#answer(admitted);
  }

  /** Takes a turn for a large body or a long list. The amount of such work in progress is limited per tenant. */
  async #takeHeavyTurn(admitted: Admitted, account: string, heavy: number): Promise<number> {
    const { shares, work } = this.#parts.services;
    const block = blockOf(Number(admitted.asked.request.headers['content-length'] ?? 0));
    await work.begin(account, heavy, false);
    try {
      // Checked here and not earlier: bodies that were queued while no other tenant was active would otherwise follow
      // each other without a gap.
      if (block > 0) await shares.space(account, block);
      await shares.enter(account, COST.request + heavy);
      return await this.#answer(admitted);
    } finally {
      work.end(account, heavy);
    }
  }

  async #answer({ asked, tenantId, params, query }: Admitted): Promise<number> {
    const { mounted, principal, request, response } = asked;
    const { route } = mounted;
    const { views, services, audit, holds } = this.#parts;
    const store = views.of(tenantId);
    const options = boundsOf(request, services.limits.timeoutMs);
    const memory = services.memory.lease(tenantId);
    try {
      const body = await this.#bodyOf(mounted, request, memory);
      const isLasting = mounted.mayLast && body === undefined;
      const hold = isLasting ? holds.hold(principal, route.scope!, response) : null;
      const call = { store, principal, hold, params, query, body, options, request, response, services, memory };
      const handled =
        audit && isAudited(route) ? this.#audited(audit, asked, call, tenantId) : route.handle(call as never);
      const answer = await (hold ? Promise.race<Answer | typeof ANSWERED>([handled, hold.ended]) : handled);
      if (answer === ANSWERED) return response.statusCode;
      return mounted.isList ? sendList(call, answer) : sendAnswer(response, answer);
    } finally {
      memory.release();
    }
  }

  #audited(audit: Audit, asked: Asked, call: Call, tenantId: string | null): Promise<Answer | typeof ANSWERED> {
    const { mounted, principal, request } = asked;
    const entry = entryOf(mounted.route, principal, call.params, call.query as KnownParameters, tenantId);
    asked.isBegun = true;
    const details = { by: principal.id, tenant: tenantId, route: mounted.name };
    this.#parts.security.note('admin_action', request, details);
    return audit.around(entry, async () => mounted.route.handle(call as never), statusOf);
  }

  async #bodyOf(
    { route, checkBody, isFree, renamed }: MountedRoute,
    request: IncomingMessage,
    memory: MemoryLease,
  ): Promise<unknown> {
    if (!checkBody && !route.reads) return undefined;
    refuseEncoded(request);
    const type = contentTypeOf(request);
    if (route.reads?.some((it) => it === type || it === '*/*') && !(checkBody && isJson(type))) return undefined;
    if (!checkBody || !isJson(type)) {
      const rule = [...(checkBody ? [JSON_TYPE] : []), ...(route.reads ?? [])].join(' or ');
      throw new Refusal(415, 'INVALID_ARGUMENT', `Send the body as ${rule}`, { field: 'content-type', rule });
    }
    const { bodyBytes, bodyMembers, members } = this.#parts.services.limits;
    const body = parseJson(await readBody(request, bodyBytes, memory), isFree ? bodyMembers : members);
    if (renamed) renameMembers(body, renamed);
    checkBody(body);
    return body;
  }
}

/** A request whose route is known. */
interface Asked {
  mounted: MountedRoute;
  match: Match<MountedRoute>;
  queryText: string;
  request: IncomingMessage;
  response: ServerResponse;
  principal: Principal;
  /** Whether the audit log has recorded the start of the action. */
  isBegun: boolean;
}

/** A request that was admitted. */
interface Admitted {
  asked: Asked;
  tenantId: string | null;
  params: Record<string, string>;
  query: KnownParameters;
}

/** Returns the kind under which the security log records a refusal, or `null` if it does not record the refusal. */
function kindOf({ status, error: { code, field } }: Refusal): SecurityKind | null {
  if (status === 429) return 'limit';
  if (code === 'TENANT_MISMATCH' || (status === 403 && field === 'sessionId')) return 'refused_tenant';
  return status === 403 ? 'refused_scope' : null;
}

/** Sends a page of a list and charges the caller for its rows and bytes. */
async function sendList(call: Call<KnownParameters>, answer: Answer): Promise<number> {
  const { query, response } = call;
  const before = response.socket?.bytesWritten ?? 0;
  const status = sendAnswer(response, answer, await longListSlices(answer));
  // A filter may have dropped most of the rows that the store read.
  const rows = Math.max(rowsOf(answer) ?? 0, query.filter === undefined ? 0 : (query.limit ?? 0));
  chargeScan(call, rows, (response.socket?.bytesWritten ?? before) - before);
  return status;
}

/**
 * Returns the estimated cost of a large body or a long list, or 0 for other requests. Lines are charged as they are
 * read and written.
 */
function heavyCostOf({ route, isList }: MountedRoute, query: KnownParameters, request: IncomingMessage): number {
  const { accept, 'content-length': length } = request.headers;
  if (length !== undefined) {
    const heavy = heavyBytes(Number(length));
    if (heavy === 0) return 0;
    const isLines = route.reads !== undefined && !isJson(contentTypeOf(request));
    return isLines ? 0 : heavy;
  }
  const isLong = isList && query.wait === undefined && accept?.includes(LINES) !== true;
  return isLong ? heavyList(query.limit) : 0;
}

function isJson(type: string): boolean {
  return type === JSON_TYPE || type.endsWith('+json');
}

/** Parameters that are read for every route. */
interface KnownParameters {
  tenant?: string;
  filter?: unknown;
  limit?: number;
  wait?: string;
}

const NO_PARAMETERS: KnownParameters = Object.freeze({});

/** Renames members that the caller sent under the names of an older version. */
function renameMembers(body: unknown, renamed: ReadonlyMap<string, string>): void {
  if (!isPlainObject(body)) return;
  for (const [old, name] of renamed) {
    if (!Object.hasOwn(body, old) || Object.hasOwn(body, name)) continue;
    body[name] = body[old];
    delete body[old];
  }
}

function queryOf({ query: schema, checkQuery, renamed }: MountedRoute, text: string): KnownParameters {
  const query = parseQuery(text, schema, renamed);
  check(checkQuery, query, 'query');
  return query;
}

function mount(route: Route): MountedRoute {
  const properties = {
    ...(route.scope === null ? {} : TENANT_PARAMETER.properties),
    ...(route.query?.properties as Record<string, never> | undefined),
  };
  const query = Type.Object(properties);
  const checkQuery = Compile(query);
  const name = `${route.method} ${route.path}`;
  return {
    route,
    name,
    query,
    checkQuery,
    mayAskNothing: checkQuery.Check({}),
    mayLast: route.scope !== null && (route.produces !== undefined || route.reads !== undefined),
    isList: route.scope !== null && (Object.hasOwn(properties, 'limit') || route.readsList === true),
    checkBody: route.body ? bodyCheck(route.storeChecksBody ? outlineOf(route.body) : route.body) : null,
    isFree: route.body !== undefined && isFree(route.body),
    renamed: renamedIn(name),
  };
}

/**
 * Returns a check for bodies. It checks the items of an array one by one and stops at the first invalid item, because
 * the validator would otherwise build the errors of all items.
 */
function bodyCheck(schema: TSchema): (body: unknown) => void {
  const whole = Compile(schema);
  const forms = (schema as { anyOf?: TSchema[] }).anyOf ?? [schema];
  const items = (forms.find((it) => (it as { type?: unknown }).type === 'array') as { items?: TSchema } | undefined)
    ?.items;
  const item = items && Compile(items);
  return (body) => {
    if (!item || !Array.isArray(body)) return check(whole, body, 'body');
    const wrong = body.findIndex((it) => !item.Check(it));
    if (wrong >= 0) check(item, body[wrong], 'body', `events[${wrong}]`);
  };
}

/** Whether any part of a schema allows values of any shape. */
function isFree(schema: TSchema): boolean {
  const { type, anyOf, items, properties, patternProperties, additionalProperties } = schema as {
    type?: unknown;
    anyOf?: TSchema[];
    items?: TSchema;
    properties?: Record<string, TSchema>;
    patternProperties?: Record<string, TSchema>;
    additionalProperties?: boolean;
  };
  if (additionalProperties === true) return true;
  const parts = [
    ...(anyOf ?? []),
    ...(items ? [items] : []),
    ...Object.values(properties ?? {}),
    ...Object.values(patternProperties ?? {}),
  ];
  const isPlain = type !== undefined || 'const' in schema || 'enum' in schema;
  return parts.length === 0 ? !isPlain : parts.some(isFree);
}

/** Reduces a schema to its outline, for bodies whose members the store checks. */
function outlineOf(schema: TSchema): TSchema {
  const { anyOf } = schema as { anyOf?: TSchema[] };
  if (anyOf) return Type.Union(anyOf.map(outlineOf));
  const { type, items } = schema as { type?: unknown; items?: TSchema };
  return type === 'array' && items ? Type.Array(outlineOf(items)) : Type.Object({});
}

interface SchemaError {
  instancePath: string;
  message: string;
  params: { requiredProperties?: string[] };
}

/** Throws `INVALID_ARGUMENT` with the path of the first violation. */
function check(validator: Validator, value: unknown, whole: string, at = ''): void {
  if (validator.Check(value)) return;
  // If a value may have several forms, the deepest error belongs to the form that the value resembles most.
  const error = (validator.Errors(value) as SchemaError[]).reduce((deepest, it) =>
    depthOf(it) > depthOf(deepest) ? it : deepest,
  );
  const missing = error.params.requiredProperties?.[0];
  const steps = error.instancePath.split('/').slice(1);
  if (missing !== undefined) steps.push(missing);
  const field = steps.reduce((path, step) => {
    if (/^\d+$/.test(step)) return `${path || 'events'}[${step}]`;
    return path === '' ? shortName(step) : `${path}.${shortName(step)}`;
  }, at);
  throw invalidArgument(field || whole, missing === undefined ? error.message.replace(/^must be /, '') : 'given');
}

function depthOf({ instancePath, params }: SchemaError): number {
  return instancePath.split('/').length + (params.requiredProperties === undefined ? 0 : 1);
}

function confineToSession(route: Route, sessionId: string, params: Record<string, string>): void {
  if (params.sessionId === sessionId || (params.sessionId === undefined && route.confinesSession)) return;
  throw new Refusal(403, 'FORBIDDEN', 'This key is for one session only', {
    field: 'sessionId',
    rule: 'its own session',
  });
}

/**
 * Returns the tenant of a call: the caller's own tenant, or the tenant that an operator names. `null` is the operator's
 * view of all tenants.
 */
function tenantOf(principal: Principal, request: IncomingMessage, query: { tenant?: string }): string | null {
  const header = request.headers[TENANT_HEADER] as string | undefined;
  const named = query.tenant ?? (header === undefined ? undefined : idOfSegment(header, TENANT_HEADER));
  if (principal.tenantId === null) return named ?? null;
  if (named === undefined || named === principal.tenantId) return principal.tenantId;
  throw new Refusal(403, 'TENANT_MISMATCH', 'This key is for another tenant', {
    field: 'tenant',
    rule: 'its own tenant',
  });
}

function boundsOf(request: IncomingMessage, maxMs: number): CallOptions {
  const text = request.headers[TIMEOUT_HEADER] as string | undefined;
  if (text === undefined) return {};
  const timeoutMs = Number(text);
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1)
    throw invalidArgument(TIMEOUT_HEADER, 'whole milliseconds of at least 1', text);
  return { timeoutMs: Math.min(timeoutMs, maxMs) };
}

/**
 * Access control: every operation of the OpenAPI document, without credentials, and across scopes, tenants and
 * sessions.
 */
import { memoryKey, type Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { call, GUARDED, type Names, OPERATIONS, type Operation, requestTo } from '../../../faults/server-api.ts';
import { contentsOf, fillTenant } from '../../../faults/tenant-contents.ts';
import { SCOPES, type Scope, SYSTEM_TENANT } from '../src/index.ts';
import { ROUTES_OF_0_1 } from './routes-of-0-1.ts';
import { bearing, startSecured } from './security-setup.ts';

const LIMIT_MS = 60_000;
const STREAM_MS = 150;

/** Returns ids of the data that a tenant has in a session. */
async function namesOf(store: Store, tenantId: string, sessionId: string): Promise<Names> {
  const { agents, artifacts } = store.forTenant(tenantId);
  const { items: refs } = await artifacts.list({ sessionId });
  const { items: pauses } = await agents.listPauses({ sessionId });
  return {
    tenantId,
    sessionId,
    runId: 'run-0',
    runSeq: 1,
    key: 'key-0',
    keys: ['key-0', 'key-1'],
    prefix: '',
    field: 'text',
    traceId: `trace of ${sessionId}`,
    taskType: 'mail',
    taskId: 'job_1',
    id: refs[0]!.id,
    pauseId: pauses[0]!.pauseId,
    token: `token ${tenantId} ${sessionId}`,
    toRunId: 'fork',
    state: 'claimed',
    threshold: '1ms',
    topics: `runs,events,runs/run-0,kv/,sessions/${sessionId}`,
    eventId: '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e',
    eventType: 'Progress',
    emittedAt: '2026-01-01T00:00:00.000Z',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2099-01-01T00:00:00.000Z',
    expiresAt: '2099-01-01T00:00:00.000Z',
    status: 'CANCELLED',
    updateId: 'forged',
    updateType: 'PROGRESS',
    agentUrl: 'https://forged.test',
    routerSessionId: sessionId,
    remoteSkill: 'skill',
    fields: { text: 'forged' },
    set: { text: 'forged' },
    scope: { sessionId, tenantId },
  };
}

/** Returns the text of a response, or the first part of a live stream. */
async function answerTo(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  const timer = setTimeout(() => void reader.cancel(), STREAM_MS);
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += decoder.decode(next.value);
  clearTimeout(timer);
  return text;
}

/** Reads that return runs, jobs and lists without their payloads. */
const SHOW_NO_PAYLOADS = [
  'GET /metrics',
  'GET /v1/info',
  'GET /v1/ping',
  'GET /v1/loops',
  'GET /v1/runs',
  'GET /v1/run-count',
  'GET /v1/runs/{runId}',
  'GET /v1/runs/{runId}/snapshot',
  'GET /v1/runs/{runId}/head',
  'GET /v1/runs/{runId}/integrity',
  'GET /v1/runs/{runId}/checkpoint',
  'GET /v1/quarantines',
  'POST /v1/kv-count',
  'GET /v1/jobs',
  'GET /v1/job-types',
  'GET /v1/jobs-overdue',
  'GET /v1/jobs/{taskType}/{taskId}',
  // It looks for the worker of another address.
  'POST /v1/bindings/find',
  'GET /v1/memory',
  'GET /v1/sessions',
  'GET /v1/sessions/{sessionId}/traces',
  'GET /v1/artifacts',
  'GET /v1/artifacts/{id}/ref',
];

describe('callers without credentials', () => {
  it('get 401 on every route except the open ones', { timeout: LIMIT_MS }, async () => {
    const { url, store } = await startSecured();
    await fillTenant(store, 'alpha', 1, 2);
    const names = await namesOf(store, 'alpha', 'session-1');
    const open: string[] = [];
    for (const operation of OPERATIONS) {
      const answer = await call(url, requestTo(operation, names));
      if (answer.status === 401) {
        expect(answer.headers.get('www-authenticate'), operation.name).toBe('Bearer');
        expect(await answer.json()).toMatchObject({ code: 'UNAUTHENTICATED' });
      } else open.push(operation.name);
    }
    expect(open).toEqual(['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /errors']);
    for (const headers of [{ authorization: 'Basic YTpi' }, bearing('x'), bearing(`tmk_${'0'.repeat(16)}.x`)])
      expect((await fetch(`${url}/v1/runs`, { headers })).status).toBe(401);
  });
});

/** A caller that may read runs may list which of them are damaged, and one that may read records may count them. */
const READS_SINCE_0_1 = [
  'GET /v1/run-count',
  'GET /v1/runs/{runId}/checkpoint',
  'GET /v1/quarantines',
  'POST /v1/kv-count',
  'POST /v1/bindings/find',
  'GET /v1/sessions/{sessionId}/bindings',
];
/**
 * A caller that may fail, requeue and cancel jobs may make them wait and wake them, and one that may delete records may
 * delete them by prefix. A caller that may write a record may write several.
 */
const WRITES_SINCE_0_1 = [
  'POST /v1/jobs/{taskType}/{taskId}/park',
  'POST /v1/jobs/{taskType}/{taskId}/wake',
  'POST /v1/kv-delete',
  'POST /v1/kv-batch',
  'POST /v1/bindings/terminal',
];

/**
 * Whether a scope allows an operation, determined by the names: `domain:verb`, the sets of 0.1, and `admin` for
 * everything.
 */
function opens(scope: Scope, { name, scope: wanted }: Operation): boolean {
  if (scope === 'admin') return true;
  if (scope === 'read' && READS_SINCE_0_1.includes(name)) return true;
  if (scope === 'append' && WRITES_SINCE_0_1.includes(name)) return true;
  if (scope === 'read' || scope === 'append') return ROUTES_OF_0_1[scope].includes(name);
  return wanted === scope || wanted === 'store:read';
}

/** Streams need the scopes of their topics; metrics, loops and doctor need an operator. */
const NOT_BY_SCOPE_ALONE = new Set(['GET /v1/stream', 'GET /metrics', 'GET /v1/loops', 'GET /v1/doctor']);

describe('scopes', () => {
  it('allow exactly their own routes', { timeout: 3 * LIMIT_MS }, async () => {
    const { url, store, keyFor } = await startSecured();
    await fillTenant(store, 'alpha', 1, 2);
    const names = await namesOf(store, 'alpha', 'session-1');
    const refused = async (scope: Scope) => {
      const headers = await keyFor({ tenantId: 'alpha', scopes: [scope] });
      for (const operation of GUARDED.filter((it) => !opens(scope, it))) {
        const answer = await call(url, requestTo(operation, names), headers);
        expect(answer.status, `${scope} on ${operation.name}`).toBe(403);
        expect(await answer.json()).toMatchObject({ code: 'FORBIDDEN', rule: operation.scope });
      }
    };
    const before = await contentsOf(store, 'alpha');
    for (const scope of SCOPES) await refused(scope);
    expect(await contentsOf(store, 'alpha')).toEqual(before);
    for (const scope of SCOPES.toSorted()) {
      const headers = await keyFor({ tenantId: 'alpha', scopes: [scope] });
      const opened = GUARDED.filter((it) => opens(scope, it) && !NOT_BY_SCOPE_ALONE.has(it.name));
      for (const operation of opened.filter(({ method }) => method !== 'DELETE' || scope !== 'admin')) {
        const answer = await call(url, requestTo(operation, names), headers);
        expect([401, 403], `${scope} on ${operation.name}`).not.toContain(answer.status);
        await answerTo(answer);
      }
    }
  });

  it('of 0.1 allow the same routes as in 0.1', () => {
    const known = new Set(Object.values(ROUTES_OF_0_1).flat());
    const guarded = new Set(GUARDED.map(({ name }) => name));
    expect([...known].filter((name) => !guarded.has(name))).toEqual([]);
    for (const { name, scope } of GUARDED.filter((it) => known.has(it.name))) {
      const isRead = scope!.endsWith(':read');
      const was = scope === 'admin' ? 'admin' : isRead ? 'read' : 'append';
      expect(ROUTES_OF_0_1[was], name).toContain(name);
    }
  });

  it('show metrics to operators with the scope, or on a separate address', async () => {
    const { url, keyFor, server } = await startSecured({ metricsAddress: '127.0.0.1:0' });
    const statusFor = async (wanted: Parameters<typeof keyFor>[0]) =>
      (await fetch(`${url}/metrics`, { headers: await keyFor(wanted) })).status;
    expect(await statusFor({ scopes: ['metrics:read'] })).toBe(200);
    expect(await statusFor({ scopes: ['admin'] })).toBe(200);
    expect(await statusFor({ scopes: ['read'] })).toBe(403);
    expect(await statusFor({ scopes: ['admin'], tenantId: 'alpha' })).toBe(403);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    const { metricsUrl } = server;
    expect(await (await fetch(metricsUrl!)).text()).toContain('tidemark_open_streams');
    for (const path of ['/v1/runs', '/healthz', '/metrics/x', '/'])
      expect((await fetch(new URL(path, metricsUrl!))).status, path).toBe(404);
  });

  it('decide which topics a stream may have', async () => {
    const { url, store, keyFor } = await startSecured();
    await fillTenant(store, 'alpha', 1, 2);
    const topics = { 'runs:read': ['runs', 'events', 'runs/r'], 'kv:read': ['kv/'], 'agents:read': ['sessions/s'] };
    for (const [scope, own] of Object.entries(topics)) {
      const headers = await keyFor({ tenantId: 'alpha', scopes: [scope as Scope] });
      for (const topic of Object.values(topics).flat()) {
        const answer = await fetch(`${url}/v1/stream?topics=${encodeURIComponent(topic)}`, { headers });
        await answer.body?.cancel();
        expect(answer.status, `${scope} on ${topic}`).toBe(own.includes(topic) ? 200 : 403);
      }
    }
  });

  it('do not let a write-only key delete', async () => {
    const { url, store, keyFor } = await startSecured();
    await fillTenant(store, 'alpha', 1, 2);
    const names = await namesOf(store, 'alpha', 'session-1');
    const before = await contentsOf(store, 'alpha');
    const headers = await keyFor({
      tenantId: 'alpha',
      scopes: ['runs:write', 'kv:write', 'agents:write', 'artifacts:write'],
    });
    for (const operation of GUARDED.filter(({ method }) => method === 'DELETE'))
      expect((await call(url, requestTo(operation, names), headers)).status, operation.name).toBe(403);
    expect(await contentsOf(store, 'alpha')).toEqual(before);
  });
});

describe('tenants', () => {
  it('cannot see or change data of another tenant, however they name it', { timeout: LIMIT_MS }, async () => {
    const { url, store, keyFor } = await startSecured();
    for (const tenantId of ['alpha', 'beta']) await fillTenant(store, tenantId, 1, 2);
    const headers = await keyFor({ tenantId: 'alpha', scopes: ['read', 'append', 'admin'] });
    const victim = await namesOf(store, 'beta', 'session-1');
    const before = await contentsOf(store, 'beta');
    const attempts = [
      { names: victim },
      { names: { ...victim, key: memoryKey('beta', 'user', 'session-1') } },
      { names: victim, extra: { tenantId: 'beta' } },
      { names: victim, extra: { scope: JSON.stringify({ tenantId: 'beta', sessionId: 'session-1' }) } },
    ];
    for (const operation of GUARDED) {
      for (const { names, extra = {} } of attempts) {
        const takes = new Set(operation.parameters.map(({ name }) => name));
        if (!Object.keys(extra).every((name) => takes.has(name))) continue;
        const text = await answerTo(await call(url, requestTo(operation, names, extra), headers));
        expect(text, operation.name).not.toContain('secret of beta');
        expect(text, operation.name).not.toContain('https://beta');
      }
      for (const [extra, more] of [
        [{ tenant: 'beta' }, {}],
        [{}, { 'tidemark-tenant': 'beta' }],
      ] as const) {
        const answer = await call(url, requestTo(operation, victim, extra), { ...headers, ...more });
        expect(answer.status, operation.name).toBe(403);
        expect(await answer.json()).toMatchObject({ code: 'TENANT_MISMATCH' });
      }
    }
    expect(await contentsOf(store, 'beta'), 'all of it is as it was').toEqual(before);
  });

  it('cannot continue with the cursor of another', { timeout: LIMIT_MS }, async () => {
    const { url, store, keyFor } = await startSecured();
    for (const tenantId of ['alpha', 'beta']) await fillTenant(store, tenantId, 3, 2);
    const names = await namesOf(store, 'beta', 'session-1');
    const [owner, other] = [await keyFor({ tenantId: 'beta' }), await keyFor({ tenantId: 'alpha' })];
    let tried = 0;
    for (const operation of GUARDED.filter(({ method }) => method === 'GET')) {
      const takes = new Set(operation.parameters.map(({ name }) => name));
      if (!takes.has('cursor') || !takes.has('limit')) continue;
      const cursorOf = async (headers: Record<string, string>) => {
        const page = await call(url, requestTo(operation, names, { limit: '1' }), headers);
        return (JSON.parse(await answerTo(page)) as { next?: string }).next;
      };
      const [theirs, ours] = [await cursorOf(owner), await cursorOf(other)];
      if (theirs === undefined || ours === undefined) continue;
      tried++;
      const plain = Buffer.from(ours, 'base64url').toString('latin1');
      const forged = Buffer.from(plain.replaceAll('alpha', 'beta'), 'latin1').toString('base64url');
      for (const cursor of [theirs, forged]) {
        const text = await answerTo(await call(url, requestTo(operation, names, { cursor, limit: '100' }), other));
        expect(text, operation.name).not.toContain('secret of beta');
        expect(text, operation.name).not.toContain('"tenantId":"beta"');
      }
    }
    expect(tried, 'lists with a second page').toBeGreaterThan(3);
  });

  it('see their own data, so that the refusals above are meaningful', { timeout: LIMIT_MS }, async () => {
    const { url, store, keyFor } = await startSecured();
    await fillTenant(store, 'beta', 1, 2);
    const names = await namesOf(store, 'beta', 'session-1');
    const memory = { ...names, key: memoryKey('beta', 'user', 'session-1') };
    const headers = await keyFor({ tenantId: 'beta', scopes: ['read'] });
    const silent: string[] = [];
    for (const operation of GUARDED.filter((it) => it.scope!.endsWith(':read'))) {
      const request = requestTo(operation, operation.path.startsWith('/v1/memory') ? memory : names);
      const text = await answerTo(await call(url, request, headers));
      if (!/secret of beta|https:..beta/.test(text)) silent.push(operation.name);
    }
    expect(silent, 'these show no payloads').toEqual(SHOW_NO_PAYLOADS);
  });
});

/** Ways to name another session besides paths and bodies. */
const FOREIGN_SESSIONS: Record<string, string>[] = [
  {},
  { scope: JSON.stringify({ sessionId: 'session-2' }) },
  { sessionId: 'session-2' },
];

describe('sessions', () => {
  it('cannot see or change data of another session of the same tenant', { timeout: LIMIT_MS }, async () => {
    const { url, store, keyFor } = await startSecured();
    await fillTenant(store, 'alpha', 1, 2);
    const headers = await keyFor({ tenantId: 'alpha', sessionId: 'session-1', scopes: ['read', 'append', 'admin'] });
    const victim = await namesOf(store, 'alpha', 'session-2');
    const before = await contentsOf(store, 'alpha');
    const confined: string[] = [];
    for (const operation of GUARDED) {
      for (const extra of FOREIGN_SESSIONS) {
        const takes = new Set(operation.parameters.map(({ name }) => name));
        if (!Object.keys(extra).every((name) => takes.has(name))) continue;
        const answer = await call(url, requestTo(operation, victim, extra), headers);
        const text = await answerTo(answer);
        expect(text, operation.name).not.toContain('session-2');
        if (answer.status !== 403 && Object.keys(extra).length === 0) confined.push(operation.name);
      }
    }
    expect(confined, 'open to one session, within it').toEqual([
      'GET /v1/info',
      'GET /v1/ping',
      'POST /v1/artifacts',
      'GET /v1/artifacts',
      'GET /v1/artifacts/{id}',
      'DELETE /v1/artifacts/{id}',
      'GET /v1/artifacts/{id}/ref',
    ]);
    const { ofSessions, ...rest } = await contentsOf(store, 'alpha');
    const { ofSessions: ofSessionsBefore, ...restBefore } = before;
    expect(rest).toEqual(restBefore);
    expect((ofSessions as unknown[])[1]).toEqual((ofSessionsBefore as unknown[])[1]);
    expect((await fetch(`${url}/v1/sessions/session-1/tasks`, { headers })).status).toBe(200);
    const own = (await (await fetch(`${url}/v1/artifacts`, { headers })).json()) as { items: unknown[] };
    expect(own.items, 'two of its own, and one that it stored').toHaveLength(3);
  });
});

describe('the system tenant', () => {
  it('cannot be reached by any route, except the audit log, which operators read', { timeout: LIMIT_MS }, async () => {
    const { url, store, keys, keyFor } = await startSecured();
    const headers = await keyFor();
    await fillTenant(store, 'alpha', 1, 2);
    const system = store.forTenant(SYSTEM_TENANT);
    const runsBefore = (await system.runs.listRuns()).items;
    const { runId } = runsBefore[0]!;
    const [key] = await keys.list();
    const digest = Buffer.from((await system.kv.getField(`api-keys/${key!.id}`, 'digest'))!);
    const shown = (['base64', 'base64url', 'hex'] as const).map((encoding) => digest.toString(encoding));
    const names = {
      ...(await namesOf(store, 'alpha', 'session-1')),
      tenantId: SYSTEM_TENANT,
      runId,
      key: `api-keys/${key!.id}`,
      field: 'digest',
      topics: 'kv/',
    };
    const reads: string[] = [];
    for (const operation of GUARDED) {
      const takesTenant = operation.parameters.some(({ name }) => name === 'tenantId');
      const attempts = [{ tenant: SYSTEM_TENANT }, ...(takesTenant ? [{ tenantId: SYSTEM_TENANT }] : []), {}];
      for (const extra of attempts) {
        const answer = await call(url, requestTo(operation, names, extra as Record<string, string>), headers);
        const text = await answerTo(answer);
        for (const form of shown) expect(text, operation.name).not.toContain(form);
        if (answer.ok && Object.keys(extra).length > 0) reads.push(operation.name);
      }
    }
    expect([...new Set(reads)]).toEqual([
      'GET /metrics',
      'GET /v1/info',
      'GET /v1/ping',
      'GET /v1/loops',
      'GET /v1/doctor',
      'GET /v1/runs',
      'GET /v1/run-count',
      'GET /v1/runs/{runId}',
      'GET /v1/runs/{runId}/snapshot',
      'GET /v1/runs/{runId}/head',
      'GET /v1/runs/{runId}/integrity',
      'GET /v1/runs/{runId}/checkpoint',
      'GET /v1/runs/{runId}/events',
      'GET /v1/runs/{runId}/events/{runSeq}',
      'GET /v1/runs/{runId}/export',
      'GET /v1/quarantines',
      'GET /v1/events',
      'GET /v1/stream',
    ]);
    expect((await keys.list()).map(({ id }) => id)).toEqual([key!.id]);
    expect(await system.runs.verify(runId)).toMatchObject({ ok: true, events: 2 });
  });

  it('rejects artifacts of operators that name it in their scope', async () => {
    const { url, store, keyFor } = await startSecured();
    const headers = await keyFor();
    const scope = encodeURIComponent(JSON.stringify({ tenantId: SYSTEM_TENANT }));
    const label = JSON.stringify({ scope: { tenantId: SYSTEM_TENANT } });
    const puts = [
      { path: `/v1/artifacts?scope=${scope}`, type: 'text/plain', body: 'forged' },
      { path: '/v1/artifacts', type: 'application/vnd.tidemark.artifact', body: `${label}\nforged` },
    ];
    for (const { path, type, body } of puts) {
      const answer = await fetch(url + path, { method: 'POST', headers: { ...headers, 'content-type': type }, body });
      expect(answer.status, type).toBe(403);
    }
    const { artifacts } = store.forTenant(SYSTEM_TENANT);
    expect((await artifacts.list()).items).toEqual([]);
    const { id } = await artifacts.putText('own');
    for (const [method, path] of [
      ['GET', `/${id}`],
      ['GET', `/${id}/ref`],
      ['DELETE', `/${id}`],
      ['GET', ''],
    ])
      expect((await fetch(`${url}/v1/artifacts${path}?scope=${scope}`, { method: method!, headers })).status).toBe(403);
    expect(await artifacts.exists(id)).toBe(true);
    const cursor = Buffer.from(JSON.stringify(['stored artifacts', SYSTEM_TENANT, null])).toString('base64url');
    for (const path of ['artifacts', `artifacts?cursor=${cursor}`, 'artifact-totals']) {
      const answer = await fetch(`${url}/v1/admin/${path}`, { headers });
      expect([answer.status, await answer.json()], path).toEqual([200, { items: [] }]);
    }
  });

  it('does not appear in streams of changes either', async () => {
    const { url, keys, keyFor } = await startSecured();
    const headers = await keyFor();
    for (const path of ['/v1/stream?topics=kv/', '/v1/kv?']) {
      const answer = await fetch(`${url}${path}&tenant=${SYSTEM_TENANT}`, {
        headers: { ...headers, accept: 'text/event-stream' },
      });
      const streamed = answerTo(answer);
      const { info } = await keys.create({ name: 'n', tenantId: 'alpha', scopes: ['read'] }, { by: 'a test' });
      expect(await streamed).not.toContain(info.id);
    }
  });
});

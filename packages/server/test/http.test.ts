/** Plain HTTP: ids in paths, conditions, bulk appends, limits, hosts, health. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { memoryStore } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { createServer } from '../src/index.ts';
import { runEvent, send, startServer } from './running.ts';

const HOSTILE = [
  '.',
  '..',
  '~',
  '~.',
  '~~',
  '/',
  '..%2F',
  '%2e%2e',
  '%00',
  'a/../b',
  '?a=b#c',
  '日本 🗻',
  '\'"<>',
  '\n\r\t',
  '{}',
  '*',
];

/** Sends headers that `fetch` does not allow. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('ids in paths (GEN-5)', () => {
  it('are kept apart, as key, as field and as tenant', async () => {
    const { client, store } = await startServer();
    for (const id of HOSTILE) {
      await client.kv.put(id, { [id]: id });
      await client.forTenant(id).kv.put('k', { id });
    }
    for (const id of HOSTILE) {
      expect(Buffer.from((await client.kv.getField(id, id))!).toString(), id).toBe(id);
      expect(Object.keys((await store.kv.get(id))!.fields), id).toEqual([id]);
      expect(Buffer.from((await store.forTenant(id).kv.getField('k', 'id'))!).toString(), id).toBe(id);
    }
  });

  it('are rejected with broken percent escapes', async () => {
    const { url } = await startServer();
    expect((await fetch(`${url}/v1/kv/%ff`)).status).toBe(400);
  });
});

describe('conditions', () => {
  it('are rejected when they are null, instead of writing unconditionally', async () => {
    const { url, store } = await startServer();
    await store.agents.saveMemoryState('m', { n: 1 });
    const answer = await send(`${url}/v1/memory/m`, 'PUT', { state: { n: 2 }, expectedVersion: null });
    expect(await answer.json()).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'expectedVersion' });
    expect(await store.agents.loadMemoryState('m')).toEqual({ n: 1 });
  });

  it('If-Match on an append is the expected sequence', async () => {
    const { url } = await startServer();
    const path = `${url}/v1/runs/r/events`;
    const { runId: _, ...event } = runEvent('r');
    expect((await send(path, 'POST', event, { 'if-match': '"0"' })).status).toBe(201);
    expect((await send(path, 'POST', event, { 'if-match': '"0"' })).status, 'the same again is no conflict').toBe(200);
    const conflict = await send(path, 'POST', runEvent('r'), { 'if-match': '"0"' });
    expect(conflict.status).toBe(412);
    expect(await conflict.json()).toMatchObject({ code: 'SEQ_CONFLICT', current: 1, outcome: 'rejected' });
  });

  it('Idempotency-Key makes an event without a key the same event', async () => {
    const { url } = await startServer();
    const event = () => ({ ...runEvent('r'), idempotencyKey: undefined });
    const first = await send(`${url}/v1/events`, 'POST', event(), { 'idempotency-key': 'k' });
    const second = await send(`${url}/v1/events`, 'POST', event(), { 'idempotency-key': 'k' });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(await second.json()).toMatchObject({ runSeq: 1, idempotent: true });
  });

  it('If-Match and If-None-Match guard records', async () => {
    const { url } = await startServer();
    const put = await send(`${url}/v1/kv/k`, 'PUT', { fields: { a: 1 } }, { 'if-none-match': '*' });
    expect(put.status).toBe(200);
    expect((await send(`${url}/v1/kv/k`, 'PUT', { fields: { a: 2 } }, { 'if-none-match': '*' })).status).toBe(412);
    const etag = (await fetch(`${url}/v1/kv/k`)).headers.get('etag')!;
    expect((await send(`${url}/v1/kv/k`, 'PATCH', { fields: { b: 1 } }, { 'if-match': etag })).status).toBe(200);
    const stale = await send(`${url}/v1/kv/k`, 'PATCH', { fields: { b: 2 } }, { 'if-match': etag });
    expect(stale.status).toBe(412);
    expect(await stale.json()).toMatchObject({ current: { fields: { b: { text: '1' } } } });
  });
});

describe('bulk appends', () => {
  it('return one result per line, in order, and an invalid line fails alone', async () => {
    const { url, store } = await startServer();
    const events = Array.from({ length: 1_200 }, (_, n) => runEvent('r', `k${n}`));
    const lines = events.map((event) => JSON.stringify(event));
    lines[7] = '{"not":"an event"}';
    lines[8] = 'not even JSON';
    const answer = await send(`${url}/v1/events`, 'POST', lines.join('\n'), { 'content-type': 'application/x-ndjson' });
    const results = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(results.map(({ status }) => status)).toEqual(lines.map((_, n) => (n === 7 ? 400 : n === 8 ? 422 : 201)));
    const stored = results.filter(({ status }) => status === 201);
    expect(
      stored.map(({ runSeq }) => runSeq),
      'lines of a run keep their order',
    ).toEqual(stored.map((_, n) => n + 1));
    expect(await store.runs.headSeq('r')).toBe(1_198);
  });
});

describe('limits', () => {
  it('reject bodies that are too long, too deep, encoded, of another type, or not UTF-8', async () => {
    const { url } = await startServer({ limits: { bodyBytes: 10_000, lineBytes: 1_000 } });
    const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
      fetch(`${url}/v1/kv-lookup`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post(JSON.stringify({ keys: ['x'.repeat(20_000)] }))).status).toBe(413);
    expect((await post(`{"keys":${'['.repeat(4_000)}`)).status).toBe(422);
    expect((await post('{}', { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post('{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(new Uint8Array([0x22, 0xff, 0x22]))).status).toBe(422);
    expect((await post('{"keys":9007199254740993}')).status).toBe(422);
    expect((await post('{"keys":[]}')).status, 'the server goes on').toBe(200);
    const line = await fetch(`${url}/v1/events`, {
      method: 'POST',
      body: `${'x'.repeat(2_000)}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    });
    expect(line.status).toBe(413);
  });

  it('report the name of an unknown or invalid parameter', async () => {
    const { url } = await startServer();
    for (const [query, field] of [
      ['limt=5', 'limt'],
      ['limit=x', 'limit'],
      ['limit=0', 'limit'],
      ['limit=5&limit=6', 'limit'],
    ]) {
      const answer = await fetch(`${url}/v1/runs?${query}`);
      expect(answer.status, query).toBe(400);
      expect(await answer.json()).toMatchObject({ code: 'INVALID_ARGUMENT', field });
    }
  });

  it('close sockets that send their request too slowly', async () => {
    const { url } = await startServer({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 200 } });
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname, () => socket.write('GET /healthz HTTP/1.1\r\nHost: 127'));
    const ended = await new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
    });
    expect(ended).toMatch(/^HTTP\/1.1 408/);
  });
});

describe('access', () => {
  it('is rejected to other hosts and origins on a server without auth', async () => {
    const { url } = await startServer();
    const { host } = new URL(url);
    expect(await statusOf(`${url}/v1/info`, { host: 'evil.test' })).toBe(421);
    expect(await statusOf(`${url}/healthz`, { host: 'evil.test' }), 'open routes too').toBe(421);
    expect(await statusOf(`${url}/v1/info`, { host, origin: 'http://evil.test' })).toBe(403);
    expect(await statusOf(`${url}/v1/info`, { host, origin: `http://${host}` })).toBe(200);
  });

  it('requires auth to listen on other addresses', () => {
    const store = memoryStore();
    expect(() => createServer({ store, host: '0.0.0.0' })).toThrow(expect.objectContaining({ field: 'host' }));
  });

  it("is confined to a caller's scopes, tenant and session", async () => {
    const principal = { id: 'p', tenantId: 'acme', scopes: ['read' as const], sessionId: 's1' };
    const { url } = await startServer({ auth: { loopbackOnly: false, authenticate: () => principal } });
    const statusAt = async (path: string, init?: RequestInit) => (await fetch(`${url}${path}`, init)).status;
    expect(await statusAt('/v1/sessions/s1/tasks')).toBe(200);
    expect(await statusAt('/v1/sessions/s2/tasks'), 'another session').toBe(403);
    expect(await statusAt('/v1/kv/k'), 'what belongs to no session').toBe(403);
    expect(await statusAt('/v1/sessions/s1/tasks?tenant=other'), 'another tenant').toBe(403);
    expect(await statusAt('/v1/sessions/s1', { method: 'DELETE' }), 'beyond its scopes').toBe(403);
    expect(await statusAt('/v1/artifacts?scope={"sessionId":"s2"}'), 'its own artifacts, whatever it asks for').toBe(
      200,
    );
  });

  it('is rejected with 401 to unknown callers, except for the health check', async () => {
    const store = memoryStore();
    const refusal = { refused: 'unknown' as const, message: 'Send a key' };
    const server = createServer({ store, auth: { loopbackOnly: false, authenticate: () => refusal } });
    const url = await server.listen();
    try {
      expect((await fetch(`${url}/v1/info`)).status).toBe(401);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    } finally {
      await server.close();
      await store.close();
    }
  });
});

describe('operators', () => {
  it('can read health, readiness and metrics', async () => {
    const { url, client, store } = await startServer();
    await client.runs.handle('r').append('RunStarted');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('tidemark_appended_events_total 1');
    expect(metrics).toMatch(/tidemark_requests_total\{method="POST",route="\/v1\/events",status="201"\} 1/);
    expect(metrics).toMatch(/tidemark_request_seconds_bucket\{method="POST",route="\/v1\/events",le="\+Inf"\} 1/);
    await store.close();
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  it('select a tenant by header or parameter', async () => {
    const { url, store } = await startServer();
    await store.forTenant('a/b').kv.put('k', { v: '1' });
    expect((await fetch(`${url}/v1/kv/k?tenant=${encodeURIComponent('a/b')}`)).status).toBe(200);
    expect((await fetch(`${url}/v1/kv/k`, { headers: { 'tidemark-tenant': 'a%2Fb' } })).status).toBe(200);
    expect((await fetch(`${url}/v1/kv/k`)).status).toBe(404);
  });

  it('serve artifacts as downloads that browsers do not run', async () => {
    const { url } = await startServer();
    const stored = await fetch(`${url}/v1/artifacts?filename=${encodeURIComponent('a"b/é.html')}`, {
      method: 'POST',
      body: '<script>alert(1)</script>',
      headers: { 'content-type': 'text/html' },
    });
    expect(stored.status).toBe(201);
    const { id } = (await stored.json()) as { id: string };
    const { headers } = await fetch(`${url}/v1/artifacts/${id}`);
    expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''a%22b%2F%C3%A9.html");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
  });
});

describe('parts of artifacts', () => {
  async function stored(text: string) {
    const running = await startServer();
    const { id, sha256 } = await running.store.artifacts.putText(text, { ttl: null });
    const get = (headers: Record<string, string>, method = 'GET') =>
      fetch(`${running.url}/v1/artifacts/${id}`, { method, headers });
    return { ...running, id, sha256, get };
  }

  it.each([
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=3-5', '345', 'bytes 3-5/10'],
    ['BYTES=7-', '789', 'bytes 7-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
  ])('answers %s with this part', async (range, text, contentRange) => {
    const { get, sha256 } = await stored('0123456789');
    const answer = await get({ range });
    expect([answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([
      206,
      text,
      contentRange,
    ]);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
    expect(answer.headers.get('etag')).toBe(`"${sha256}"`);
    expect([answer.headers.has('content-digest'), answer.headers.has('repr-digest')]).toEqual([false, true]);
  });

  it.each(['bytes=0-1,4-5', 'bytes=5-3', 'bytes=-', 'lines=1-2', 'bytes=a-b', 'bytes=1'])(
    'sends the whole artifact for %s, which is not a single byte range',
    async (range) => {
      const { get } = await stored('0123456789');
      const answer = await get({ range });
      expect([answer.status, await answer.text()]).toEqual([200, '0123456789']);
      expect(answer.headers.get('accept-ranges')).toBe('bytes');
    },
  );

  it.each([
    ['0123456789', 'bytes=10-'],
    ['0123456789', 'bytes=10-20'],
    ['0123456789', 'bytes=-0'],
    ['', 'bytes=0-'],
    ['', 'bytes=-5'],
  ])('of "%s" refuse %s with 416', async (text, range) => {
    const { get } = await stored(text);
    const answer = await get({ range });
    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, `bytes */${text.length}`]);
    expect(await answer.json()).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'range' });
  });

  it('are sent only if If-Range matches the bytes', async () => {
    const { get, sha256 } = await stored('0123456789');
    expect((await get({ range: 'bytes=0-1', 'if-range': `"${sha256}"` })).status).toBe(206);
    for (const version of ['"other"', `W/"${sha256}"`, 'Wed, 18 Nov 2026 09:46:26 GMT']) {
      const answer = await get({ range: 'bytes=50-', 'if-range': version });
      expect([answer.status, await answer.text()], version).toEqual([200, '0123456789']);
    }
  });

  it('are not sent for HEAD', async () => {
    const { get } = await stored('0123456789');
    const answer = await get({ range: 'bytes=0-1' }, 'HEAD');
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '10']);
  });
});

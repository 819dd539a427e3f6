/**
 * Attacks: other hosts and origins, decompression bombs, slow sockets, prototype pollution, and secrets that must not
 * be shown.
 */
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { call, GUARDED, OPERATIONS, requestTo } from '../../../faults/server-api.ts';
import { bearer, mintBootstrapKey } from '../src/index.ts';
import { stderrLogger } from '../src/logger.ts';
import { startServer } from './running.ts';
import { bearing, startSecured } from './security-setup.ts';

const LIMIT_MS = 60_000;
const MEGABYTE = 2 ** 20;

/** Sends headers that `fetch` does not allow. */
function statusOf(url: string, headers: Record<string, string>, method = 'GET', body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode!);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function post(url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
}

describe('hosts and origins', () => {
  it('of others are rejected by every operation of a server without auth', { timeout: LIMIT_MS }, async () => {
    const { url } = await startServer();
    const { host } = new URL(url);
    const names = new Proxy(
      {},
      { has: (_, name) => /Id$|^(key|field|taskType|runSeq|id)$/.test(String(name)), get: () => '1' },
    );
    for (const operation of OPERATIONS) {
      const { path, method } = requestTo(operation, names);
      expect(await statusOf(url + path, { host: 'evil.test' }, method), operation.name).toBe(421);
      expect(await statusOf(url + path, { host: 'localhost.evil.test' }, method), operation.name).toBe(421);
      expect(await statusOf(url + path, { host, origin: 'http://evil.test' }, method), operation.name).toBe(403);
      expect(await statusOf(url + path, { host, origin: 'null' }, method), operation.name).toBe(403);
    }
    const simple = { host, origin: 'http://evil.test', 'content-type': 'text/plain' };
    expect(await statusOf(`${url}/v1/kv-lookup`, simple, 'POST', '{"keys":[]}'), 'a form of another page').toBe(403);
    expect(await statusOf(`${url}/v1/runs`, { host, origin: `http://${host}` })).toBe(200);
  });

  it('are also rejected by a server with auth and configured names', async () => {
    const { url, keyFor } = await startSecured({}, { hosts: ['tidemark.test'] });
    const key = await keyFor();
    const statusAt = (headers: Record<string, string>) => statusOf(`${url}/v1/runs`, { ...key, ...headers });
    expect(await statusAt({ host: 'tidemark.test' })).toBe(200);
    expect(await statusAt({ host: 'Tidemark.test:443' })).toBe(200);
    expect(await statusAt({ host: 'evil.test' })).toBe(421);
    expect(await statusAt({ host: 'tidemark.test', origin: 'https://tidemark.test' })).toBe(200);
    expect(await statusAt({ host: 'tidemark.test', origin: 'https://evil.test' })).toBe(403);
  });

  it('other than loopback require auth that identifies callers', async () => {
    const { keys } = await startSecured({ host: '0.0.0.0' });
    expect(bearer({ keys }).loopbackOnly).toBe(false);
    await expect(startServer({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'host' });
    await expect(startServer({ host: '::' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'host' });
  });
});

describe('bombs', () => {
  it("' are refused before they are decompressed or parsed, while others are served", {
    timeout: LIMIT_MS,
  }, async () => {
    const { url } = await startServer();
    const before = process.memoryUsage().rss;
    const zipped = new Uint8Array(gzipSync(Buffer.alloc(256 * MEGABYTE, '['), { level: 1 }));
    const grown = process.memoryUsage().rss;
    for (const path of ['/v1/kv-lookup', '/v1/events', '/v1/artifacts', '/v1/restores']) {
      const answer = await post(url + path, zipped, { 'content-encoding': 'gzip' });
      expect(answer.status, path).toBe(415);
    }
    expect(process.memoryUsage().rss - Math.max(before, grown), 'what it would be unpacked').toBeLessThan(
      200 * MEGABYTE,
    );
    const deep = '['.repeat(1_000_000);
    expect((await post(`${url}/v1/kv-lookup`, deep)).status).toBe(422);
    expect((await post(`${url}/v1/kv-lookup`, `{"keys":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`)).status).toBe(422);
    const line = await post(`${url}/v1/events`, deep, { 'content-type': 'application/x-ndjson' });
    expect(await line.text()).toContain('"status":422');
    expect((await post(`${url}/v1/kv-lookup`, `{"keys":["${'x'.repeat(17 * MEGABYTE)}"]}`)).status).toBe(413);
    const wide = JSON.stringify({ keys: Array.from({ length: 1_000_000 }, () => 'k') });
    expect((await post(`${url}/v1/kv-lookup`, wide)).status).toBe(413);
    expect((await post(`${url}/v1/kv-lookup`, '{"keys":[1e400]}')).status).toBe(422);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });
});

describe('slow sockets', () => {
  it('are closed, in the head and in the body, while others are served', { timeout: LIMIT_MS }, async () => {
    const { url } = await startServer({ limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 } });
    const { port, hostname } = new URL(url);
    const open = (text: string) =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(text);
          resolve(socket);
        });
        socket.on('error', reject);
      });
    const head = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ';
    const body =
      'POST /v1/kv-lookup HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{';
    const sockets = await Promise.all(Array.from({ length: 200 }, (_, n) => open(n % 2 === 0 ? head : body)));
    const ended = sockets.map(
      (socket) => new Promise<void>((resolve) => socket.on('data', () => {}).on('close', () => resolve())),
    );
    const dribble = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed && socket.writable) socket.write(' ');
    }, 200);
    onTestFinished(() => clearInterval(dribble));
    for (let n = 0; n < 20; n++) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await Promise.all(ended);
  });
});

describe('polluted objects', () => {
  it('change nothing in any operation', { timeout: LIMIT_MS }, async () => {
    const { url, store } = await startServer();
    const names = new Proxy(
      {},
      { has: (_, name) => /Id$|^(key|field|taskType|runSeq|id)$/.test(String(name)), get: () => '1' },
    );
    const polluted =
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":{"__proto__":{"polluted":1}}}';
    for (const operation of GUARDED) {
      const built = requestTo(operation, names);
      const queries = operation.parameters.filter(({ content }) => content).map(({ name }) => [name, polluted]);
      for (const query of [[], ...queries.map((it) => [it])]) {
        const path = `${built.path.split('?')[0]}?${new URLSearchParams(query as [string, string][])}`;
        const body = built.body === undefined ? {} : { body: polluted };
        const answer = await call(url, { ...built, ...body, path });
        await answer.body?.cancel();
        expect(answer.status, operation.name).toBeLessThan(500);
        expect(({} as { polluted?: number }).polluted, operation.name).toBeUndefined();
      }
    }
    await post(`${url}/v1/kv/k/swap`, '{"set":{"__proto__":"x","constructor":"y"}}');
    expect(Object.keys((await store.kv.get('k'))!.fields).sort(), 'names like any other').toEqual([
      '__proto__',
      'constructor',
    ]);
  });
});

describe('secrets', () => {
  it('sent anywhere appear in no refusal, log or metric', { timeout: LIMIT_MS }, async () => {
    const { url, keyFor, logged } = await startSecured();
    const headers = await keyFor();
    const secret = mintBootstrapKey();
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${'A'.repeat(40)}.${'B'.repeat(40)}`;
    const shown = new RegExp([secret.split('.')[1]!, 'A'.repeat(40), 'hunter2'].join('|'));
    const texts: string[] = [];
    for (const canary of [secret, jwt, `postgres://ada:hunter2@db/${'x'.repeat(600)}`]) {
      const names = new Proxy({}, { has: (_, name) => name !== 'events', get: () => canary });
      for (const operation of GUARDED) {
        const answer = await call(url, requestTo(operation, names), headers);
        if (answer.ok) await answer.body?.cancel();
        else texts.push(await answer.text());
      }
      texts.push(await (await fetch(`${url}/v1/runs`, { headers: bearing(canary) })).text());
      texts.push(await (await fetch(`${url}/v1/runs?limit=${encodeURIComponent(canary)}`, { headers })).text());
      texts.push(
        await (
          await fetch(`${url}/v1/runs`, { headers: { ...headers, 'if-match': canary, 'tidemark-timeout': canary } })
        ).text(),
      );
    }
    texts.push(await (await fetch(`${url}/metrics`, { headers })).text(), JSON.stringify(logged));
    expect(texts.length).toBeGreaterThan(100);
    for (const text of texts) expect(text).not.toMatch(shown);
  });

  it.each([
    'postgres://ada:Qx7secret@db/app',
    'postgres://db/app?user=ada&password=Qx7secret',
    'redis://a,ada:Qx7secret@b',
    'POSTGRES://ada:Qx7secret@db',
    'nats://Qx7secret@host',
    'postgres://ada:a/Qx7secret@db/app',
    'redis://:a?Qx7secret@db',
  ])('in the URL of a store are omitted from the log: %s', (url) => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    stderrLogger.error({ event: 'x', url, error: new Error(`no answer from ${url}`) });
    expect(write.mock.calls.join('')).not.toContain('Qx7secret');
    expect(write.mock.calls.join('')).toContain('no answer from');
  });

  it('in errors are omitted from the log', () => {
    const lines: string[] = [];
    const written = vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    onTestFinished(() => written.mockRestore());
    const key = mintBootstrapKey();
    const cause = new Error(`connect postgres://ada:hunter2@db failed with Bearer ${key}`);
    const error = new Error('It failed', { cause });
    stderrLogger.error({ event: 'request_failed', error, headers: { authorization: 'x-canary', cookie: 'y-canary' } });
    stderrLogger.info({ event: 'note', text: `a key ${key}`, password: 'z-canary', token: 'w-canary' });
    const text = lines.join('');
    expect(text).toContain('It failed');
    expect(text).toContain('connect postgres://***@db');
    expect(text).not.toMatch(new RegExp(`hunter2|canary|${key.split('.')[1]}`));
  });
});

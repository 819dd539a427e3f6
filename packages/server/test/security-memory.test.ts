/** Bodies crafted to fill the server's memory or to keep it busy are refused, and their memory is released. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { sqliteStore } from '@tidemark/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newFolder, runEvent, send, startServer } from './running.ts';
import { startSecured } from './security-setup.ts';

const LIMIT_MS = 120_000;
const MEGABYTE = 1024 * 1024;
const LINES = 'application/x-ndjson';

async function gauge(url: string, name: string, headers: Record<string, string> = {}): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)![1]);
}

const reserved = (url: string, headers?: Record<string, string>) =>
  gauge(url, 'tidemark_memory_reserved_bytes', headers);

/** Sends a body in chunks, without a declared length. */
function sendPieces(
  url: string,
  pieces: Iterable<Buffer | string>,
  headers: Record<string, string>,
): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]>; sentBytes: number }> {
  return new Promise((resolve, reject) => {
    let sentBytes = 0;
    let isAnswered = false;
    const sent = request(url, { method: 'POST', headers }, async (answer) => {
      isAnswered = true;
      let text = '';
      for await (const chunk of answer.setEncoding('utf8')) text += chunk;
      resolve({ status: answer.statusCode!, text, headers: answer.headers, sentBytes });
    });
    sent.on('error', (error) => (isAnswered ? undefined : reject(error)));
    const iterator = pieces[Symbol.iterator]();
    const more = (): void => {
      for (;;) {
        const next = isAnswered ? { done: true as const, value: undefined } : iterator.next();
        if (next.done) {
          sent.end();
          return;
        }
        sentBytes += next.value.length;
        if (!sent.write(next.value)) {
          sent.once('drain', more);
          return;
        }
      }
    };
    more();
  });
}

function* repeated(piece: Buffer | string, times: number): Generator<Buffer | string> {
  for (let n = 0; n < times; n++) yield piece;
}

describe('many members', () => {
  it('of a lookup, a record or a query are rejected before they are parsed', {
    timeout: LIMIT_MS,
  }, async () => {
    const { url } = await startServer();
    const keys = `{"keys":[${'1,'.repeat(8_000_000)}1]}`;
    const lookup = await send(`${url}/v1/kv-lookup`, 'POST', keys);
    expect(lookup.status).toBe(413);
    expect(await lookup.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', rule: 'at most 20000 members' });
    const fields = Array.from({ length: 900_000 }, (_, n) => `"f${n}":"x"`).join();
    expect((await send(`${url}/v1/kv/key`, 'PUT', `{"fields":{${fields}}}`)).status).toBe(413);
    expect((await send(`${url}/v1/kv/key`, 'PATCH', `{"fields":{${fields}}}`)).status).toBe(413);
    const ones = await send(`${url}/v1/events`, 'POST', `[${'1,'.repeat(900_000)}1]`);
    expect(ones.status).toBe(400);
    expect(await ones.json()).toMatchObject({ field: 'events[0]' });
    const parameters = Array.from({ length: 1_500 }, () => 'eventType=x').join('&');
    expect((await fetch(`${url}/v1/events?${parameters}`)).status).toBeLessThan(500);
  });

  it('are accepted where a record may have them', async () => {
    const { url } = await startServer();
    const fields = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`f${n}`, { text: 'x' }]));
    expect((await send(`${url}/v1/kv/key`, 'PUT', { fields })).status).toBe(200);
  });
});

describe('labels of artifacts', () => {
  it.each(['null', '[]', '5', '"x"', '', '{', 'x'.repeat(20_000_000)])('must be objects: %.10s', async (label) => {
    const { url } = await startServer();
    const headers = { 'content-type': 'application/vnd.tidemark.artifact' };
    const answer = await send(`${url}/v1/artifacts`, 'POST', `${label}\nbytes`, headers);
    expect([400, 413, 422]).toContain(answer.status);
    expect((await send(`${url}/v1/artifacts`, 'POST', '{}\nbytes', headers)).status).toBeLessThan(300);
  });
});

describe('names in responses', () => {
  it('are cut, in the body and in the query', { timeout: LIMIT_MS }, async () => {
    const { url } = await startServer();
    const name = 'eyJ-'.repeat(500_000);
    const answer = await send(`${url}/v1/kv/key`, 'PUT', JSON.stringify({ fields: { [name]: [] } }));
    const text = await answer.text();
    expect(answer.status).toBe(400);
    expect(text.length).toBeLessThan(1_000);
    const query = await fetch(`${url}/v1/runs?${'x'.repeat(10_000)}=1`);
    expect(((await query.json()) as { field: string }).field).toHaveLength(65);
  });
});

describe('uploads of artifacts', () => {
  it('pass through client and server in chunks, which neither side collects', { timeout: LIMIT_MS }, async () => {
    const path = join(newFolder(), 'store.db');
    const { client, url, store } = await startServer({ store: await sqliteStore(path) });
    const sizes: number[] = [];
    const stored = () => {
      const staging = `${path}-artifacts/staging`;
      if (!existsSync(staging)) return 0;
      return readdirSync(staging).reduce((sum, name) => sum + statSync(join(staging, name)).size, 0);
    };
    async function* source() {
      for (let n = 1; n <= 20; n++) {
        yield new Uint8Array(MEGABYTE).fill(n);
        // The next megabyte is sent only after the server has written most of this one.
        await expect.poll(stored, { timeout: 20_000 }).toBeGreaterThanOrEqual((n - 2) * MEGABYTE);
        sizes.push(await reserved(url));
      }
    }
    const { id, sizeBytes } = await client.artifacts.putStream(source(), { timeoutMs: LIMIT_MS });
    expect(sizeBytes).toBe(20 * MEGABYTE);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * MEGABYTE);
    expect((await store.artifacts.getRef(id))?.sizeBytes).toBe(sizeBytes);
    await expect.poll(() => reserved(url)).toBe(0);
  });

  it('are rejected when the budget is used up, and never retried with a source that was read', async () => {
    const { client, store } = await startServer({ limits: { memoryBytes: MEGABYTE } });
    let reads = 0;
    async function* source() {
      reads++;
      for (let n = 0; n < 8; n++) yield new Uint8Array(MEGABYTE / 2).fill(n);
    }
    await expect(client.artifacts.putStream(source())).rejects.toMatchObject({ field: 'memory' });
    expect(reads).toBe(1);
    expect((await store.artifacts.list()).items).toEqual([]);
  });
});

describe('the budget', () => {
  it('rejects a line of 300 MB long before all of it is sent', { timeout: LIMIT_MS }, async () => {
    const { url } = await startServer();
    const answer = await sendPieces(`${url}/v1/restores`, repeated(Buffer.alloc(MEGABYTE, 'x'), 300), {
      'content-type': LINES,
    });
    expect(answer.status).toBe(413);
    expect(answer.sentBytes).toBeLessThan(40 * MEGABYTE);
    await expect.poll(() => reserved(url)).toBe(0);
  });

  it('counts chunks of one byte by their total size', { timeout: LIMIT_MS }, async () => {
    const { url } = await startServer({ limits: { memoryBytes: 4 * MEGABYTE } });
    const json = { 'content-type': 'application/json' };
    const body = `{"keys":["${'x'.repeat(400)}"]${' '.repeat(3_000)}}`;
    expect((await sendPieces(`${url}/v1/kv-lookup`, body, json)).status).toBe(200);
    const bulk = [...JSON.stringify(runEvent('run'))].map((it) => Buffer.from(it));
    expect((await sendPieces(`${url}/v1/events`, bulk, { 'content-type': LINES })).text).toContain('"status":201');
    const refused = await sendPieces(`${url}/v1/kv-lookup`, repeated(' '.repeat(100), 10_000), json);
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject({ field: 'memory' });
    for (const [path, type] of [
      ['/v1/kv-lookup', 'application/json'],
      ['/v1/events', LINES],
      ['/v1/artifacts', 'application/vnd.tidemark.artifact'],
    ] as const) {
      const crumbs = await sendPieces(`${url}${path}`, repeated(' ', 10_000), { 'content-type': type });
      expect(crumbs.status, path).toBe(413);
    }
    await expect.poll(() => reserved(url)).toBe(0);
  });

  it('is released after requests that were answered, rejected and cut off', { timeout: LIMIT_MS }, async () => {
    const { url, store } = await startServer();
    for (let n = 0; n < 5; n++) await store.runs.appendEvent(runEvent('run'));
    const bulk = Array.from({ length: 2_000 }, () => JSON.stringify(runEvent('bulk'))).join('\n');
    await (await send(`${url}/v1/events`, 'POST', bulk, { 'content-type': LINES })).text();
    await (await send(`${url}/v1/kv-lookup`, 'POST', '{"keys":[]}')).text();
    await (await send(`${url}/v1/kv-lookup`, 'POST', 'x'.repeat(MEGABYTE))).text();
    const exported = await (await fetch(`${url}/v1/runs/run/export`)).text();
    await (await send(`${url}/v1/restores`, 'POST', exported, { 'content-type': LINES })).text();
    const stream = await fetch(`${url}/v1/runs/run/events`, { headers: { accept: 'text/event-stream' } });
    await expect.poll(() => reserved(url)).toBeGreaterThan(0);
    await stream.body!.cancel();
    await expect.poll(() => reserved(url)).toBe(0);
    const socket = await halfSent(url, {}, MEGABYTE);
    await expect.poll(() => reserved(url)).toBeGreaterThanOrEqual(4 * MEGABYTE);
    socket.destroy();
    await expect.poll(() => reserved(url)).toBe(0);
  });

  it('leaves other tenants their share while one sends many incomplete bodies', { timeout: LIMIT_MS }, async () => {
    const { url, keyFor } = await startSecured({ limits: { memoryBytes: 64 * MEGABYTE } });
    const [greedy, polite] = [await keyFor({ tenantId: 'greedy' }), await keyFor({ tenantId: 'polite' })];
    const operator = await keyFor({ scopes: ['metrics:read'] });
    const budget = await gauge(url, 'tidemark_memory_budget_bytes', operator);
    const sockets = await Promise.all(Array.from({ length: 30 }, () => halfSent(url, greedy, 2 * MEGABYTE)));
    await expect.poll(() => gauge(url, 'tidemark_memory_refusals_total', operator)).toBeGreaterThan(0);
    expect(await reserved(url, operator)).toBeLessThanOrEqual(budget / 2 + MEGABYTE);
    const body = JSON.stringify({ keys: ['x'.repeat(400)], pad: 'x'.repeat(2 * MEGABYTE) });
    expect((await send(`${url}/v1/kv-lookup`, 'POST', body, polite)).status).toBe(200);
    // Each refusal leaves the tenant all but one body of its share, so a body of twice that size never fits.
    const pieces = repeated(Buffer.alloc(MEGABYTE / 16, ' '), 64);
    const json = { ...greedy, 'content-type': 'application/json' };
    const refused = await sendPieces(`${url}/v1/events`, pieces, json);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'OVERLOADED', field: 'memory', retryable: true });
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => reserved(url, operator)).toBe(0);
    expect((await send(`${url}/v1/kv-lookup`, 'POST', body, greedy)).status).toBe(200);
  });
});

/**
 * A socket that has sent part of a body and then stops. It declares no length: of declared bodies, and of lookups, a
 * tenant has only a few in progress anyway.
 */
async function halfSent(url: string, headers: Record<string, string>, bytes: number): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines.join('')}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  socket.write(head);
  socket.write(`${(16 * MEGABYTE).toString(16)}\r\n`);
  await new Promise<void>((resolve) => socket.write(Buffer.alloc(bytes, ' '), () => resolve()));
  return socket;
}

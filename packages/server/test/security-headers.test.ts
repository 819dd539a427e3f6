/** Headers of every response, and requests that other sites make a browser send. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OPERATIONS, requestTo } from '../../../faults/server-api.ts';
import { newFolder, startServer } from './running.ts';

interface Seen {
  status: number;
  headers: IncomingHttpHeaders;
}

/** Returns the head of a response without waiting for the rest. */
function headOf(url: string, method = 'GET', headers: Record<string, string> = {}, body?: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      resolve({ status: answer.statusCode!, headers: answer.headers });
      answer.destroy();
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Creates an inspector of two files. */
function builtInspector(): string {
  const folder = newFolder();
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Tidemark</title>');
  writeFileSync(join(folder, 'assets', 'app-1a2b3c.js'), 'export {};');
  return folder;
}

const names = new Proxy(
  {},
  { has: (_, name) => /Id$|^(key|field|taskType|runSeq|id)$/.test(String(name)), get: () => '1' },
);

const VARIANTS: Record<string, string>[] = [
  {},
  { accept: 'text/event-stream' },
  { accept: 'application/x-ndjson' },
  { host: 'evil.test' },
];
const SAFE = { 'x-content-type-options': 'nosniff', 'cache-control': expect.stringContaining('no-store') };
/** Headers of a page for browsers. */
const PAGE = {
  ...SAFE,
  'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  'referrer-policy': 'no-referrer',
};

describe('every response', () => {
  it('of every operation has nosniff and no-store, including streams and refusals', async () => {
    const { url } = await startServer();
    for (const operation of OPERATIONS) {
      const { path, method, headers, body } = requestTo(operation, names);
      for (const extra of VARIANTS) {
        const seen = await headOf(url + path, method, { ...headers, ...extra }, body);
        expect(seen.headers, `${operation.name} ${seen.status}`).toMatchObject(SAFE);
      }
    }
    for (const [path, method] of [
      ['/nothing', 'GET'],
      ['/v1/runs', 'PATCH'],
      ['/v1/stream?topics=runs', 'HEAD'],
      ['/v1/runs?limit=x', 'GET'],
    ] as const)
      expect((await headOf(url + path, method)).headers, path).toMatchObject(SAFE);
    expect(await headOf(`${url}/v1/runs`, 'GET', { expect: 'nonsense' })).toMatchObject({ status: 417, headers: SAFE });
  });

  it('to a malformed request has them too', async () => {
    const { url } = await startServer({ limits: { headersTimeoutMs: 500, requestTimeoutMs: 600 } });
    const { port, hostname } = new URL(url);
    const answerTo = (text: string) =>
      new Promise<string>((resolve, reject) => {
        let answer = '';
        const socket = connect(Number(port), hostname, () => socket.write(text));
        socket.setEncoding('latin1').on('data', (data) => {
          answer += String(data);
        });
        socket.on('error', reject).on('close', () => resolve(answer));
      });
    for (const [text, status] of [
      ['nonsense\r\n\r\n', '400'],
      [`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
      ['GET / HTTP/1.1\r\n', '408'],
    ] as const) {
      const answer = await answerTo(text);
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toContain('x-content-type-options: nosniff\r\n');
      expect(answer).toContain('cache-control: no-store\r\n');
    }
  });

  it('with a page is not cached, and files with hashed names are cached for long', async () => {
    const { url } = await startServer({ inspector: builtInspector() });
    expect((await headOf(`${url}/`)).headers).toMatchObject(PAGE);
    expect((await headOf(`${url}/errors`)).headers).toMatchObject(PAGE);
    expect((await headOf(`${url}/runs/r`, 'GET', { accept: 'text/html' })).headers).toMatchObject(PAGE);
    const policy = String((await headOf(`${url}/`)).headers['content-security-policy']);
    for (const rule of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"])
      expect(policy.split('; ')).toContain(rule);
    const { headers } = await headOf(`${url}/assets/app-1a2b3c.js`);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
    expect(headers['cache-control']).toContain('immutable');
    const again = await headOf(`${url}/assets/app-1a2b3c.js`, 'GET', { 'if-none-match': headers.etag! });
    expect(again).toMatchObject({ status: 304, headers: { 'x-content-type-options': 'nosniff' } });
  });
});

describe('without auth', () => {
  it('the inspector responds only to the names of this machine', async () => {
    const { url } = await startServer({ inspector: builtInspector() });
    const { host } = new URL(url);
    for (const path of ['/', '/runs/r', '/assets/app-1a2b3c.js', '/nothing']) {
      const headers = { accept: 'text/html' };
      expect(await headOf(url + path, 'GET', { ...headers, host: 'evil.test' }), path).toMatchObject({ status: 421 });
      expect(await headOf(url + path, 'GET', { ...headers, host, origin: 'http://evil.test' }), path).toMatchObject({
        status: 403,
      });
    }
    expect((await headOf(`${url}/`, 'GET', { host })).status).toBe(200);
  });

  it('requests from pages of another site are rejected, including simple ones', async () => {
    const { url, store } = await startServer({ inspector: builtInspector() });
    for (const site of ['cross-site', 'same-site']) {
      for (const operation of OPERATIONS) {
        const { path, method, headers, body } = requestTo(operation, names);
        for (const mode of ['no-cors', 'cors', 'navigate']) {
          const browser = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': 'document' };
          const { status } = await headOf(url + path, method, { ...headers, ...browser }, body);
          expect(status, `${operation.name} ${site} ${mode}`).toBe(403);
        }
      }
      const form = { 'content-type': 'text/plain', 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' };
      expect((await headOf(`${url}/v1/events`, 'POST', form, '{}')).status).toBe(403);
      expect((await headOf(`${url}/`, 'GET', { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' })).status).toBe(
        403,
      );
    }
    expect((await store.runs.listRuns()).items).toEqual([]);
  });

  it('its own pages, typed addresses and links to its pages work', async () => {
    const { url } = await startServer({ inspector: builtInspector() });
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect((await headOf(`${url}/v1/runs`, 'GET', { 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await headOf(`${url}/v1/runs`, 'GET', { 'sec-fetch-site': 'none' })).status).toBe(200);
    expect((await headOf(`${url}/runs/r`, 'GET', { ...link, accept: 'text/html' })).status).toBe(200);
    expect(
      (await headOf(`${url}/runs/r`, 'GET', { ...link, accept: 'text/html', 'sec-fetch-dest': 'iframe' })).status,
    ).toBe(403);
  });
});

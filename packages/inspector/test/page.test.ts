import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { memoryStore } from '@tidemark/core';
import { createServer, type TidemarkServer } from '@tidemark/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildInspector } from '../../../scripts/inspector.ts';

/** The maximum size of a first visit. */
const MAX_BYTES = 120_000;

const directory = mkdtempSync(join(tmpdir(), 'tidemark-page-'));
const store = memoryStore();
let server: TidemarkServer;
let url: string;

beforeAll(async () => {
  await buildInspector(directory);
  server = createServer({ store, inspector: directory });
  url = await server.listen();
}, 60_000);
afterAll(async () => {
  await server?.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

it('loads at most 120 KB, compressed', () => {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name))).length);
  expect(bytes.length).toBeGreaterThan(2);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_BYTES);
});

it('references no other host', () => {
  const page = readFileSync(join(directory, 'index.html'), 'utf8');
  expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
});

/** Requests a path exactly as written; `fetch` would normalise it. */
function statusOf(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: new URL(url).port, path }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).on('error', reject);
  });
}

const HTML = { accept: 'text/html' };

it('serves the page for its own paths, and the API for the rest', async () => {
  for (const path of ['/', '/runs', '/runs/a%2Fb?tenant=x', '/kv/some.key'])
    expect(await (await fetch(url + path, { headers: HTML })).text()).toContain('<div id="app">');
  expect(await (await fetch(`${url}/`)).text(), 'the start page, whatever is accepted').toContain('<div id="app">');
  expect((await fetch(`${url}/v1/nothing`, { headers: HTML })).status).toBe(404);
  expect((await fetch(`${url}/runs`)).headers.get('content-type')).toContain('json');
  expect((await fetch(`${url}/runs`, { method: 'POST', headers: HTML })).status).toBe(404);
  expect(await (await fetch(`${url}/healthz`, { headers: HTML })).json()).toEqual({ ok: true });
});

it('caches hashed files for ever and the page not at all', async () => {
  const page = await fetch(url, { headers: HTML });
  expect(page.headers.get('cache-control')).toBe('no-store');
  const again = await fetch(url, { headers: { ...HTML, 'if-none-match': page.headers.get('etag')! } });
  expect(again.status).toBe(304);
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())![1];
  const file = await fetch(url + script);
  expect(file.headers.get('cache-control')).toContain('immutable');
  expect(file.headers.get('content-type')).toContain('text/javascript');
  expect(file.headers.get('x-content-type-options')).toBe('nosniff');
});

it('serves nothing from outside the directory', async () => {
  for (const path of ['/../package.json', '/%2e%2e/package.json', '/assets/../../package.json', '//etc/passwd'])
    expect(await statusOf(path)).toBe(404);
});

it('is not served when the inspector is disabled', async () => {
  const bare = createServer({ store, inspector: false });
  const address = await bare.listen();
  expect((await fetch(address, { headers: HTML })).status).toBe(404);
  await bare.close();
});

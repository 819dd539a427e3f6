/** TLS: certificates of the server and of clients, and files that are replaced while the server runs. */
import { copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { join } from 'node:path';
import { type ConnectionOptions, checkServerIdentity, connect } from 'node:tls';
import { memoryStore } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createServer } from '../src/index.ts';
import { newFolder } from './running.ts';

const CERTIFICATES = join(import.meta.dirname, '../../../scripts/servers/certificates');
const pathOf = (name: string) => join(CERTIFICATES, name);
const textOf = (name: string) => readFileSync(pathOf(name), 'utf8');
const CA = textOf('ca.pem');
const CLIENT = { cert: textOf('client.pem'), key: textOf('client.key') };

/** Certificate files that the test may replace. */
function newPair() {
  const folder = newFolder();
  const [cert, key] = [join(folder, 'tls.pem'), join(folder, 'tls.key')];
  copyFileSync(pathOf('server.pem'), cert);
  copyFileSync(pathOf('server.key'), key);
  return { cert, key };
}

interface Logged {
  event: string;
}

async function startTls(tls: { cert: string; key: string; clientCa?: string }) {
  const logged: Logged[] = [];
  const log = (entry: Logged) => void logged.push(entry);
  const store = memoryStore();
  const server = createServer({ store, tls, logger: { info: log, error: log }, inspector: false });
  const url = await server.listen();
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return { server, url, logged };
}

/** Returns the status of a response over a new connection. */
function statusOf(
  { url }: { url: string },
  options: ConnectionOptions & { headers?: Record<string, string>; agent?: Agent } = {},
) {
  return new Promise<number>((resolve, reject) => {
    const sent = request(
      `${url}/healthz`,
      { ca: CA, checkServerIdentity: () => undefined, agent: false, ...options },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode!);
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

/** Returns the subject of the certificate that a new connection receives. */
function subjectOf({ url }: { url: string }): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), ca: CA, checkServerIdentity: () => undefined }, () => {
      resolve(String(socket.getPeerCertificate().fingerprint256));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('over TLS', () => {
  it('the server presents its certificate, and accepts nothing older than TLS 1.2', async () => {
    const server = await startTls(newPair());
    expect(server.url).toMatch(/^https:/);
    expect(await statusOf(server)).toBe(200);
    expect(await statusOf(server, { checkServerIdentity })).toBe(200);
    await expect(statusOf(server, { ca: '' })).rejects.toThrow();
    await expect(statusOf(server, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
    await expect(fetch(server.url.replace('https:', 'http:'))).rejects.toThrow();
  });

  it('its own origin is https', async () => {
    const server = await startTls(newPair());
    const { host } = new URL(server.url);
    expect(await statusOf(server, { headers: { host, origin: `https://${host}` } })).toBe(200);
    expect(await statusOf(server, { headers: { host, origin: `http://${host}` } })).toBe(403);
  });

  it('clients need a certificate if an authority is configured', async () => {
    const server = await startTls({ ...newPair(), clientCa: pathOf('ca.pem') });
    expect(await statusOf(server, CLIENT)).toBe(200);
    await expect(statusOf(server)).rejects.toThrow();
    // Another authority: the server's own certificate.
    const other = await startTls({ ...newPair(), clientCa: pathOf('server.pem') });
    await expect(statusOf(other, CLIENT)).rejects.toThrow();
  });

  it.each([
    ['a missing file', { cert: '/nowhere.pem', key: pathOf('server.key') }],
    ['a key of another certificate', { cert: pathOf('server.pem'), key: pathOf('client.key') }],
    ['a key in place of a certificate', { cert: pathOf('server.key'), key: pathOf('server.key') }],
    ['an authority that is none', { ...newPairOfFixtures(), clientCa: pathOf('server.key') }],
  ])('a server does not start with %s', async (_, tls) => {
    await expect(startTls(tls)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'tls' });
  });
});

function newPairOfFixtures() {
  return { cert: pathOf('server.pem'), key: pathOf('server.key') };
}

describe('new files', () => {
  it('are used for new connections without a restart, once both match', { timeout: 60_000 }, async () => {
    const pair = newPair();
    const server = await startTls(pair);
    const before = await subjectOf(server);
    const failures = () => server.logged.filter(({ event }) => event === 'tls_reload_failed').length;

    // Half-written: truncated, then a certificate without its key.
    copyFileSync(pathOf('client.pem'), pair.cert);
    truncateSync(pair.cert, 300);
    await expect.poll(failures).toBe(1);
    expect(await subjectOf(server)).toBe(before);
    copyFileSync(pathOf('client.pem'), pair.cert);
    await expect.poll(failures).toBe(2);
    expect(await subjectOf(server)).toBe(before);
    expect(server.server.reloadTls()).toBe(false);
    expect(failures(), 'each state is logged once').toBe(2);

    writeFileSync(`${pair.key}.next`, CLIENT.key);
    renameSync(`${pair.key}.next`, pair.key);
    await expect.poll(() => subjectOf(server)).not.toBe(before);
    expect(await statusOf(server)).toBe(200);
    expect(server.logged.map(({ event }) => event)).toContain('tls_reloaded');
    expect(JSON.stringify(server.logged), 'no key in the log').not.toContain('PRIVATE KEY');
  });

  it('that go missing leave the old ones in use', async () => {
    const pair = newPair();
    const server = await startTls(pair);
    const before = await subjectOf(server);
    renameSync(pair.cert, `${pair.cert}.gone`);
    expect(server.server.reloadTls()).toBe(false);
    expect(await subjectOf(server)).toBe(before);
    expect(server.logged.map(({ event }) => event)).toEqual(['tls_reload_failed']);
  });

  it('are used at once on request, even with a writer that never stops', { timeout: 60_000 }, async () => {
    const pair = newPair();
    const server = await startTls(pair);
    const versions = ['server', 'client'] as const;
    let isDone = false;
    // Each file is replaced atomically, but never both: a reader sees every mixture of them.
    const writing = (async () => {
      for (let n = 0; !isDone; n++) {
        const name = versions[n % 2]!;
        for (const [path, suffix] of [
          [pair.cert, 'pem'],
          [pair.key, 'key'],
        ] as const) {
          copyFileSync(pathOf(`${name}.${suffix}`), `${path}.next`);
          renameSync(`${path}.next`, path);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    })();
    for (let round = 0; round < 200; round++) {
      server.server.reloadTls();
      if (round % 10 === 0) expect(await statusOf(server), `round ${round}`).toBe(200);
      await new Promise((resolve) => setImmediate(resolve));
    }
    isDone = true;
    await writing;
    await expect.poll(() => statusOf(server)).toBe(200);
  });
});

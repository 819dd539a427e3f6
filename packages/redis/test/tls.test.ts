/** Encrypted connections to a server that requires client certificates. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import type { ServerKind } from '../../../scripts/servers/kind.ts';
import { redis } from '../../../scripts/servers/redis.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { type RedisOptions, redisStore } from '../src/index.ts';
import { newPrefix, openStore, WITHOUT_REDIS } from './servers.ts';

const pathOf = (name: string) =>
  fileURLToPath(new URL(`../../../scripts/servers/certificates/${name}`, import.meta.url));
const [ca, cert, key] = ['ca.pem', 'client.pem', 'client.key'].map((name) => readFileSync(pathOf(name), 'utf8'));

/** Its second port is encrypted. */
const encrypted: ServerKind = {
  ...redis,
  name: 'redis-tls',
  container: { ports: [6379, 6380], args: [], environment: {} },
  serverArgs: (installation) => [
    ...redis.serverArgs(installation),
    ...[
      '--tls-port',
      String(installation.ports[1]),
      '--tls-auth-clients',
      'yes',
      '--tls-ca-cert-file',
      pathOf('ca.pem'),
    ],
    ...['--tls-cert-file', pathOf('server.pem'), '--tls-key-file', pathOf('server.key')],
  ],
};

describe.skipIf(WITHOUT_REDIS)('over TLS', () => {
  let server: RunningServer;
  let url: string;
  beforeAll(async () => {
    server = await startKind(encrypted);
    url = `rediss://127.0.0.1:${server.started!.ports[1]}`;
  }, 60_000);
  afterAll(() => server?.stop());

  const open = (tls: RedisOptions['tls']) => redisStore({ url, prefix: newPrefix(), tls });

  it('serves a client that has the authority and a certificate', async () => {
    const store = await openStore(url, { tls: { ca, cert, key } });
    await store.runs.appendEvent(runEvent('r', 'k'));
    expect(await store.runs.fetchEvents('r')).toMatchObject([{ runSeq: 1, idempotencyKey: 'k' }]);
    const watching = new AbortController();
    const changes = store.kv.watch('', { signal: watching.signal })[Symbol.asyncIterator]();
    const next = changes.next();
    await store.kv.put('key', { field: 'value' });
    expect((await next).value).toMatchObject({ key: 'key', type: 'put' });
    watching.abort();
  });

  it('is rejected by a client that does not trust the authority, and the error says why', async () => {
    await expect(open({ cert, key })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/certificate/),
    });
  });

  it('rejects a client without a certificate', async () => {
    await expect(open({ ca })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is not used unless the URL asks for it', async () => {
    await expect(redisStore({ url: server.url, tls: { ca } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'tls',
    });
  });
});

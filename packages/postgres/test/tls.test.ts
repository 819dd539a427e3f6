/** Encrypted connections by options of the connection string. */
import { chmodSync, chownSync, copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKind } from '../../../scripts/servers/index.ts';
import type { Installation, ServerKind } from '../../../scripts/servers/kind.ts';
import { postgres } from '../../../scripts/servers/postgres.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { postgresStore } from '../src/index.ts';
import { openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

const pathOf = (name: string) =>
  fileURLToPath(new URL(`../../../scripts/servers/certificates/${name}`, import.meta.url));

const encrypted: ServerKind = {
  ...postgres,
  name: 'postgres-tls',
  prepare: async (installation: Installation) => {
    const program = await postgres.prepare!(installation);
    // The server accepts only a key that no other user can read.
    for (const name of ['server.pem', 'server.key']) {
      const copy = join(installation.directory, 'data', name);
      copyFileSync(pathOf(name), copy);
      chmodSync(copy, 0o600);
      if (installation.user) chownSync(copy, installation.user.uid, installation.user.gid);
    }
    return program;
  },
  serverArgs: (installation) => [
    ...postgres.serverArgs(installation),
    ...['-c', 'ssl=on', '-c', 'ssl_cert_file=server.pem', '-c', 'ssl_key_file=server.key'],
  ],
};

describe.skipIf(WITHOUT_POSTGRES)('over TLS', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startKind(encrypted);
  }, 60_000);
  afterAll(() => server?.stop());

  it('serves a client that trusts the authority', async () => {
    const store = await openStore(`${server.url}?sslmode=verify-full&sslrootcert=${pathOf('ca.pem')}`);
    const tail = store.runs.tail('r', { tenantId: 'default' })[Symbol.asyncIterator]();
    const next = tail.next();
    await store.runs.appendEvent(runEvent('r', 'k'));
    expect((await next).value).toMatchObject({ runSeq: 1, idempotencyKey: 'k' });
    await tail.return?.();
  });

  it('is rejected by a client that does not trust the authority, and the error says why', async () => {
    await expect(postgresStore({ url: `${server.url}?sslmode=verify-full` })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/certificate/),
    });
  });
});

/** Dumps of stores that released versions wrote can be restored, upgraded and used with the current code (UPG-1). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing, checkUpgrade } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf, runOrThrow } from '../../../scripts/fixtures/packed.ts';
import { postgresClient } from '../../../scripts/fixtures/postgres-client.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import type { PostgresOptions } from '../src/index.ts';
import { openStore, WITHOUT_POSTGRES } from './databases.ts';
import { createDatabase, withClient } from './servers.ts';

/** How each store was opened. */
const OPTIONS: Record<string, Omit<PostgresOptions, 'url'>> = {
  plain: {},
  confined: { partitions: 2, rowLevelSecurity: true },
};

describe.skipIf(WITHOUT_POSTGRES)('a dump', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startOwnServer('postgres');
    // Roles belong to the cluster and are not part of a dump.
    await withClient(server.url, (client) =>
      client.query('CREATE ROLE tidemark_reader; CREATE ROLE tidemark_writer; CREATE ROLE tidemark_admin'),
    );
  });
  afterAll(() => server?.stop());

  async function restored(fixture: Fixture): Promise<{ url: string; archive: string }> {
    const directory = mkdtempSync(join(tmpdir(), 'tidemark-upgrade-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    fixture.unpack(directory);
    const url = await createDatabase(server.url);
    const file = join(directory, 'dump.sql');
    runOrThrow(postgresClient('psql'), [url, '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', file]);
    return { url, archive: join(directory, 'archive') };
  }

  describe.each(fixturesOf('postgres'))('of a $name store of version $version', (fixture) => {
    it('holds the data that was written', async () => {
      const { url } = await restored(fixture);
      await checkContents(await openStore(url, OPTIONS[fixture.name]), fixture);
    });

    it('can be written to', async () => {
      const { url, archive } = await restored(fixture);
      await checkContinuing(await openStore(url, OPTIONS[fixture.name]), fixture, archive);
    });

    it('writes chain format 2 once the marker is raised', async () => {
      const { url } = await restored(fixture);
      await checkUpgrade((options) => openStore(url, { ...OPTIONS[fixture.name], ...options }));
    });

    it('has its guards afterwards', async () => {
      const { url } = await restored(fixture);
      const store = await openStore(url, OPTIONS[fixture.name]);
      const { findings } = await store.doctor();
      expect(findings.find(({ check }) => check === 'append-only')).toMatchObject({ status: 'ok' });
      if (fixture.name !== 'confined') return;
      await withClient(url, async (client) => {
        const mayChange = "SELECT has_any_column_privilege('tidemark_writer', 'tidemark.run_events', 'UPDATE') AS may";
        expect((await client.query(mayChange)).rows).toEqual([{ may: false }]);
        await client.query('SELECT tidemark.confine_tenants()');
        expect((await client.query(mayChange)).rows).toEqual([{ may: false }]);
      });
    });
  });
});

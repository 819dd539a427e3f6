/** The doctor names every setting that weakens durability, on servers that really have it (GEN-6, GEN-9). */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DoctorFinding, Store } from '@tidemark/core';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runQuietly } from '../../../scripts/processes.ts';
import { startKind, startOwnServer } from '../../../scripts/servers/index.ts';
import type { ServerKind } from '../../../scripts/servers/kind.ts';
import { pgbouncer } from '../../../scripts/servers/pgbouncer.ts';
import { postgres } from '../../../scripts/servers/postgres.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { examine } from '../src/doctor.ts';
import { Dialect } from '../src/sql.ts';
import { postgresStore } from '../src/store.ts';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';
import { through, urlOfDatabase, withClient } from './servers.ts';

describe.skipIf(WITHOUT_POSTGRES)('doctor', () => {
  let server: RunningServer;

  beforeAll(async () => {
    server = await startOwnServer('postgres');
    await superuser('CREATE ROLE app LOGIN IN ROLE pg_read_all_stats; CREATE ROLE modest LOGIN');
  }, 60_000);
  afterAll(() => server?.stop());

  async function superuser(sql: string, url = server.url): Promise<void> {
    await withClient(url, (client) => client.query(sql));
  }

  /** Creates a database owned by a login. */
  async function databaseOf(role: string): Promise<string> {
    const url = new URL(await newDatabase(server.url));
    await superuser(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${role}`);
    url.username = role;
    return url.href;
  }

  const openAs = async (role: string) => openStore(await databaseOf(role));

  /** Changes a setting of the server until the test ends. */
  async function set(name: string, value: string): Promise<void> {
    await withClient(server.url, async (client) => {
      await client.query(`ALTER SYSTEM SET ${name} = ${value}`);
      await client.query('SELECT pg_reload_conf()');
    });
    onTestFinished(async () => {
      await superuser(`ALTER SYSTEM RESET ${name}`);
      await superuser('SELECT pg_reload_conf()');
    });
  }

  it('finds nothing to fix on a well-configured server, where an acknowledged write survives a power failure', async () => {
    const store = await openAs('app');
    const { ok, durability, findings } = await store.doctor();
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect([ok, durability, store.info.durability]).toEqual([true, 'host-crash', 'host-crash']);
    expect(findings.length).toBeGreaterThan(15);
  });

  it.each([
    ['fsync', 'a power cut loses acknowledged writes and damages the database'],
    ['full_page_writes', 'a power cut can tear pages that hold acknowledged writes'],
  ])('fails %s = off, and `require` refuses it', async (name, loss) => {
    const url = await databaseOf('app');
    const store = await openStore(url);
    await set(name, 'off');
    const finding = await eventually(store, name, 'fail');
    expect(finding).toEqual({
      check: name,
      status: 'fail',
      message: `${name} is off: ${loss}`,
      fix: `ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf()`,
    });
    expect(store.info.durability).toBe('process-crash');
    await expect(postgresStore({ url, durability: 'require' })).rejects.toMatchObject({ code: 'DURABILITY_TOO_WEAK' });
  });

  it('warns about synchronous_commit being off for the role, and of the session default', async () => {
    const url = await databaseOf('app');
    await superuser('ALTER ROLE app SET synchronous_commit = off');
    onTestFinished(() => superuser('ALTER ROLE app RESET synchronous_commit'));
    const store = await openStore(url);
    expect(await findingOf(store, 'synchronous_commit')).toEqual({
      check: 'synchronous_commit',
      status: 'warn',
      message:
        'synchronous_commit is off for role app: writes of the store state it themselves, but a transaction of yours that events join can be lost in a crash',
      fix: 'ALTER ROLE app RESET synchronous_commit',
    });
    // The store's own writes are still durable.
    expect(store.info.durability).toBe('host-crash');
  });

  it('fails an UNLOGGED table, which a crash empties', async () => {
    const url = await databaseOf('app');
    const store = await openStore(url);
    await superuser('ALTER TABLE tidemark.run_snapshots SET UNLOGGED', url);
    expect(await findingOf(store, 'logged tables')).toEqual({
      check: 'logged tables',
      status: 'fail',
      message: 'UNLOGGED and empty after a crash: run_snapshots',
      fix: 'ALTER TABLE tidemark.run_snapshots SET LOGGED',
    });
    expect(store.info.durability).toBe('process-crash');
  });

  it('warns about a superuser, and fails a superuser that row-level security should bind', async () => {
    const url = await newDatabase(server.url);
    const superusers = { check: 'login role', fix: 'Connect with a separate login, NOSUPERUSER NOBYPASSRLS' };
    const store = await openStore(url);
    expect(await findingOf(store, 'login role')).toEqual({
      ...superusers,
      status: 'warn',
      message: 'postgres is a superuser: nothing on the server is closed to it',
    });
    const confined = await openStore(url, { rowLevelSecurity: true });
    expect(await findingOf(confined, 'login role')).toEqual({
      ...superusers,
      status: 'fail',
      message: 'postgres is a superuser: row-level security does not hold for it',
    });
  });

  it('warns about a login that owns the tables it is confined in, and fails a table without FORCE', async () => {
    const url = await newDatabase(server.url);
    await openStore(url, { rowLevelSecurity: true });
    await superuser('GRANT tidemark_writer, tidemark_admin TO app');
    const application = new URL(url);
    application.username = 'app';
    const store = await openStore(application.href, { rowLevelSecurity: true, migrate: false });
    expect(await findingOf(store, 'row-level security')).toEqual({
      check: 'row-level security',
      status: 'ok',
      message: 'on and forced for every table that has tenants',
    });
    await superuser('ALTER TABLE tidemark.kv_fields NO FORCE ROW LEVEL SECURITY', url);
    expect(await findingOf(store, 'row-level security')).toEqual({
      check: 'row-level security',
      status: 'fail',
      message: 'Not on and forced for kv_fields: tenants are not kept apart there',
      fix: 'SELECT tidemark.confine_tenants(), as the owner of the tables',
    });
    await superuser('SELECT tidemark.confine_tenants(); ALTER TABLE tidemark.runs OWNER TO app', url);
    expect(await findingOf(store, 'row-level security')).toMatchObject({
      status: 'warn',
      message: 'On and forced, but this login is or inherits app, who owns the tables and could lift it',
    });
  });

  it('fails a database that cannot hold every text', async () => {
    await superuser("CREATE DATABASE latin OWNER app ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    const url = new URL(urlOfDatabase(server.url, 'latin'));
    url.username = 'app';
    expect(await findingOf(await openStore(url.href), 'encoding')).toEqual({
      check: 'encoding',
      status: 'fail',
      message: 'The database is encoded in LATIN1, which cannot hold every text',
      fix: 'Create the database WITH ENCODING UTF8',
    });
  });

  it('warns about clocks that disagree', async () => {
    const store = await openAs('app');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await findingOf(store, 'clock')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/^The clock of the server is (59|60)\d{3} ms ahead of that of this process/),
    });
  });

  it('reports unknown, not ok, for sessions that its login may not see', async () => {
    await openClient(server.url);
    const store = await openAs('modest');
    for (const check of ['idle transactions', 'feed horizon']) {
      expect(await findingOf(store, check)).toEqual({
        check,
        status: 'unknown',
        message: expect.stringMatching(/^\d+ sessions of other roles cannot be seen$/),
        fix: 'GRANT pg_read_all_stats to this login, to let it see the sessions of others',
      });
    }
  });

  it('names the transaction of another client that holds the feed back, by process, application and age', async () => {
    const store = await openAs('app');
    const foreign = await openClient(server.url);
    await foreign.query("SET application_name = 'nightly report'; BEGIN; SELECT pg_current_xact_id()");
    const { rows } = await foreign.query('SELECT pg_backend_pid() AS pid');
    expect(await findingOf(store, 'feed horizon')).toMatchObject({ status: 'ok' });
    await sleep(10_200);
    expect(await findingOf(store, 'feed horizon')).toEqual({
      check: 'feed horizon',
      status: 'warn',
      message: expect.stringMatching(
        `^The transaction of nightly report \\(pid ${rows[0].pid}, postgres in postgres\\) has been open for 1\\d s: the feed shows nothing that was stored since it first wrote$`,
      ),
      fix: `End it there, or SELECT pg_terminate_backend(${rows[0].pid})`,
    });
    expect(await findingOf(store, 'idle transactions')).toMatchObject({ status: 'warn' });
  });

  it('recognises a pooler in transaction mode', async () => {
    const bouncer = await startKind(pgbouncer(server.url));
    onTestFinished(() => bouncer.stop());
    const url = await newDatabase(server.url);
    await openStore(url);
    const store = await openStore(through(url, bouncer.url), { migrate: false });
    expect(await findingOf(store, 'pooler')).toMatchObject({ message: expect.stringMatching(/^in transaction mode/) });
  });

  describe('with a standby', () => {
    let standby: RunningServer;
    beforeAll(async () => {
      standby = await startKind(standbyOf(server.url));
    }, 60_000);
    afterAll(() => standby?.stop());

    it('fails a replica, which accepts no writes', async () => {
      const pool = new pg.Pool({ connectionString: standby.url });
      onTestFinished(() => pool.end());
      const findings = await examine(pool, new Dialect('pg_catalog'));
      expect(findings.find(({ check }) => check === 'primary')).toEqual({
        check: 'primary',
        status: 'fail',
        message: 'This server is a replica and takes no writes',
        fix: 'Connect to the primary, with a host name that follows failovers',
      });
    });

    it('reports survival of a node loss only while a synchronous standby follows', async () => {
      const store = await openAs('app');
      expect(await findingOf(store, 'synchronous standbys')).toMatchObject({
        status: 'ok',
        message: expect.stringMatching(/^none/),
      });
      await set('synchronous_standby_names', "'walreceiver'");
      await vi.waitFor(async () => expect((await store.doctor()).durability).toBe('node-loss'), 10_000);
      expect(await findingOf(store, 'synchronous standbys')).toMatchObject({
        status: 'ok',
        message: '1 of walreceiver: acknowledged writes are on another server too',
      });
      await set('synchronous_standby_names', "'elsewhere'");
      expect(await eventually(store, 'synchronous standbys', 'fail')).toMatchObject({
        message: 'None of elsewhere follows: every write waits until one does',
      });
      expect(store.info.durability).toBe('host-crash');
      await set('synchronous_standby_names', "''");
    });
  });
});

async function findingOf(store: Store, check: string): Promise<DoctorFinding | undefined> {
  return (await store.doctor()).findings.find((finding) => finding.check === check);
}

/** Retries: a server takes a moment to reload its settings. */
function eventually(store: Store, check: string, status: DoctorFinding['status']): Promise<DoctorFinding> {
  return vi.waitFor(async () => {
    const finding = await findingOf(store, check);
    expect(finding?.status).toBe(status);
    return finding!;
  }, 10_000);
}

/** Starts a standby of another server. */
function standbyOf(primary: string): ServerKind {
  return {
    ...postgres,
    prepare: async ({ program, directory, user }) => {
      const copy = join(dirname(realpathSync(program)), 'pg_basebackup');
      const args = [
        '--pgdata',
        join(directory, 'data'),
        '--write-recovery-conf',
        '--checkpoint=fast',
        '--no-sync',
        '--dbname',
        primary,
      ];
      const { code, output } = await runQuietly(copy, args, { cwd: directory, ...user });
      if (code !== 0) throw new Error(`pg_basebackup failed:\n${output}`);
      return undefined;
    },
  };
}

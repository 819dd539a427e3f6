/**
 * Row-level security as in production: tables of an owner who is not a superuser, and a login that owns nothing. The
 * server itself isolates tenants in every statement that it receives (GEN-10).
 */
import { createHash } from 'node:crypto';
import { registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { type PostgresOptions, planMigrations, postgresStore } from '../src/index.ts';
import { openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { urlOfDatabase, withClient } from './servers.ts';

const PERMISSION_DENIED = '42501';

/** The tables with a tenant column. */
const TENANT_TABLES = `
  SELECT relname AS name, relrowsecurity AND relforcerowsecurity AS forced FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
  WHERE relnamespace = 'tidemark'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`;

describe.skipIf(WITHOUT_POSTGRES)('under row-level security', () => {
  let server: RunningServer;
  let owner: string;
  /** Member of tidemark_writer and tidemark_admin, like the store's login. */
  let app: string;
  /** Member of tidemark_writer only. */
  let writer: string;
  let reader: string;
  let refusal: unknown;

  beforeAll(async () => {
    server = await startOwnServer('postgres');
    await withClient(server.url, async (client) => {
      await client.query('CREATE ROLE nobody_special LOGIN; CREATE ROLE owning LOGIN CREATEROLE');
      await client.query('CREATE DATABASE poor OWNER nobody_special');
      await client.query('CREATE DATABASE app OWNER owning');
    });
    refusal = await postgresStore({ url: as('nobody_special', 'poor'), rowLevelSecurity: true }).catch(
      (error) => error,
    );
    owner = as('owning', 'app');
    await (await postgresStore({ url: owner, rowLevelSecurity: true, partitions: 2 })).close();
    await withClient(server.url, (client) =>
      client.query(`
        CREATE ROLE app LOGIN IN ROLE tidemark_writer, tidemark_admin;
        CREATE ROLE writer LOGIN IN ROLE tidemark_writer;
        CREATE ROLE reader LOGIN IN ROLE tidemark_reader`),
    );
    [app, writer, reader] = [as('app', 'app'), as('writer', 'app'), as('reader', 'app')];
    const store = await postgresStore({ ...OPTIONS, url: app });
    await store.runs.appendEvents([event('a', 'shared'), event('b', 'shared'), event('b', 'only-b')]);
    await store.close();
  }, 60_000);
  afterAll(() => server?.stop());

  const OPTIONS: Omit<PostgresOptions, 'url'> = { rowLevelSecurity: true, migrate: false, partitions: 2 };

  function as(role: string, database: string): string {
    const url = new URL(urlOfDatabase(server.url, database));
    url.username = role;
    return url.href;
  }

  async function underTest(): Promise<StoreUnderTest> {
    const open = () => postgresStore({ ...OPTIONS, url: app });
    const under: StoreUnderTest = {
      store: await open(),
      peer: open,
      reopen: async () => {
        await under.store.close();
        return open();
      },
    };
    return under;
  }

  registerConformance({ describe, it, afterAll }, 'The PostgreSQL store of a login that owns nothing', underTest, {
    domains: ['general', 'runs'],
    modelRuns: 20,
  });

  describe('the migration', () => {
    it('prints what an administrator has to run when its login may not create roles', () => {
      expect((refusal as Error).message).toContain(
        'CREATE ROLE tidemark_writer NOLOGIN; CREATE ROLE tidemark_reader NOLOGIN; CREATE ROLE tidemark_admin NOLOGIN;',
      );
    });

    it('enables and forces it on every table that has tenants, and grants nothing on partitions', async () => {
      const client = await openClient(owner);
      const { rows } = await client.query(TENANT_TABLES);
      expect(rows.length).toBeGreaterThan(15);
      expect(rows.filter(({ forced }) => !forced)).toEqual([]);
      const { rows: open } = await client.query(`
        SELECT relname FROM pg_class WHERE relispartition AND relnamespace = 'tidemark'::regnamespace AND relkind = 'r'
          AND (has_table_privilege('tidemark_writer', oid, 'SELECT') OR has_table_privilege('tidemark_admin', oid, 'SELECT'))`);
      expect(open).toEqual([]);
    });

    it('leaves a table that a later migration forgets closed, and confines it on request', async () => {
      const client = await openClient(owner);
      await client.query('BEGIN; CREATE TABLE tidemark.forgotten (tenant_id text)');
      const mayRead = async () =>
        (await client.query("SELECT has_table_privilege('tidemark_writer', 'tidemark.forgotten', 'SELECT') AS may"))
          .rows[0].may;
      expect(await mayRead()).toBe(false);
      await client.query('SELECT tidemark.confine_tenants()');
      expect(await mayRead()).toBe(true);
      expect((await client.query(TENANT_TABLES)).rows).toContainEqual({ name: 'forgotten', forced: true });
      await client.query('ROLLBACK');
    });
  });

  it('covers the job index even if it was applied before that migration', async () => {
    const client = await openClient(owner);
    await client.query('BEGIN; DROP TABLE tidemark.kv_places');
    await client.query(planMigrations().find(({ name }) => name === 'job_places')!.sql);
    expect((await client.query(TENANT_TABLES)).rows).toContainEqual({ name: 'kv_places', forced: true });
    await client.query('ROLLBACK');
  });

  describe('plain SQL', () => {
    it('shows the owner no rows without a list of tenants', async () => {
      expect(await runsSeen(await openClient(owner))).toEqual([]);
    });

    it.each(['', '[]'])('shows a writer no rows for the list %j, without an error', async (list) => {
      const client = await openClient(writer);
      await client.query('BEGIN');
      await client.query("SELECT set_config('tidemark.tenants', $1, true)", [list]);
      expect(await runsSeen(client)).toEqual([]);
    });

    it('shows a writer, a reader and a login that could take the admin role only the tenants of the list', async () => {
      for (const url of [writer, reader, app]) {
        const client = await openClient(url);
        await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["a"]'`);
        expect(await runsSeen(client)).toEqual(['a/shared']);
        expect((await client.query('SELECT DISTINCT tenant_id FROM tidemark.run_events')).rows).toEqual([
          { tenant_id: 'a' },
        ]);
        await client.query('ROLLBACK');
      }
    });

    it('shows the admin role everything while it is taken', async () => {
      const client = await openClient(app);
      await client.query('BEGIN; SET LOCAL ROLE tidemark_admin');
      expect(await runsSeen(client)).toEqual(expect.arrayContaining(['a/shared', 'b/only-b', 'b/shared']));
      await client.query('COMMIT');
      expect(await runsSeen(client)).toEqual([]);
    });

    it('does not let a writer add, change or remove rows of a tenant that is not in the list', async () => {
      const client = await openClient(writer);
      await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["a"]'; SAVEPOINT start`);
      const insert = "INSERT INTO tidemark.kv_records (tenant_id, key, revision) VALUES ('b', 'k', 1)";
      await expect(client.query(insert)).rejects.toMatchObject({ code: PERMISSION_DENIED });
      await client.query('ROLLBACK TO start');
      await expect(client.query("UPDATE tidemark.runs SET tenant_id = 'b'")).rejects.toMatchObject({
        code: PERMISSION_DENIED,
      });
      await client.query('ROLLBACK TO start');
      expect((await client.query("DELETE FROM tidemark.runs WHERE tenant_id = 'b'")).rowCount).toBe(0);
      await client.query('ROLLBACK');
    });

    it('refuses to change or truncate events by privilege, and to remove them by trigger (RUN-15)', async () => {
      for (const [url, role] of [
        [writer, 'tidemark_writer'],
        [app, 'tidemark_admin'],
      ] as const) {
        const client = await openClient(url);
        const attempt = (sql: string) =>
          client
            .query(`BEGIN; SET LOCAL ROLE ${role}; SET LOCAL tidemark.tenants = '["a"]'; ${sql}`)
            .finally(() => client.query('ROLLBACK'));
        for (const refused of [
          "UPDATE tidemark.run_events SET event_type = 'x'",
          "UPDATE tidemark.run_events SET redaction = '{}', payload = NULL",
          'TRUNCATE tidemark.run_events',
          'TRUNCATE tidemark.run_events_p0',
          'SELECT * FROM tidemark.run_events_p0',
          'SELECT tidemark.confine_tenants()',
          'ALTER TABLE tidemark.run_events DISABLE TRIGGER ALL',
          'DROP TRIGGER run_events_never_change ON tidemark.run_events',
          'SET LOCAL session_replication_role = replica',
        ])
          await expect(attempt(refused), refused).rejects.toMatchObject({ code: PERMISSION_DENIED });
        await expect(attempt('DELETE FROM tidemark.run_events')).rejects.toThrow('append-only');
      }
    });

    it('lets readers and other logins redact nothing, and a writer only in the tenants of its list (RUN-15)', async () => {
      const store = await openStore(app, OPTIONS);
      const payload = { text: 'secret' };
      const targets = ['mine', 'theirs'].map((tenantId) => ({ ...runEvent('target', '1', payload), tenantId }));
      await store.runs.appendEvents(targets);
      const payloadHash = createHash('sha256').update(JSON.stringify(payload)).digest('hex');
      const redact = async (url: string, tenantId: string, hash: string, start = '') => {
        const client = await openClient(url);
        await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["mine"]'; ${start}`);
        const redaction = JSON.stringify({ payloadHash: hash, at: 1, by: 'somebody else', reason: 'r' });
        const { rows } = await client.query("SELECT tidemark.redact_event($1, 'target', 1, $2) AS outcome", [
          tenantId,
          redaction,
        ]);
        const changed = await client.query(
          "SELECT e.redacted_as, r.rewrites FROM tidemark.run_events e JOIN tidemark.runs r USING (tenant_id, run_id) WHERE run_id = 'target' AND redaction IS NOT NULL",
        );
        const list = await client.query("SELECT current_setting('tidemark.tenants') AS list");
        await client.query('ROLLBACK');
        return { outcome: rows[0].outcome, changed: changed.rows, list: list.rows[0].list };
      };
      await expect(redact(reader, 'mine', payloadHash)).rejects.toMatchObject({ code: PERMISSION_DENIED });
      await expect(redact(writer, 'mine', '0'.repeat(64))).rejects.toThrow('append-only');
      expect(await redact(writer, 'theirs', payloadHash)).toMatchObject({ outcome: 'missing', changed: [] });
      expect(await redact(writer, 'mine', payloadHash)).toEqual({
        outcome: 'changed',
        changed: [{ redacted_as: 'writer', rewrites: '1' }],
        list: '["mine"]',
      });
      const asAdmin = await redact(app, 'theirs', payloadHash, 'SET LOCAL ROLE tidemark_admin');
      expect(asAdmin).toMatchObject({ outcome: 'changed', changed: [{ redacted_as: 'app', rewrites: '1' }] });
    });

    it('lets a writer remove whole runs, as the store does', async () => {
      const client = await openClient(writer);
      await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["a"]'`);
      await client.query("UPDATE tidemark.runs SET removed = '{}'; DELETE FROM tidemark.run_events");
      await client.query('ROLLBACK');
    });

    it('evaluates the list once per statement', async () => {
      const client = await openClient(writer);
      await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["a"]'`);
      const { rows } = await client.query('EXPLAIN SELECT * FROM tidemark.runs');
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('InitPlan');
      expect(plan).not.toContain('SubPlan');
    });
  });

  describe('a store', () => {
    it('leaves no list and no role behind on a pooled connection', async () => {
      // One connection, so that all transactions share it.
      const store = await openStore(app, { ...OPTIONS, maxConnections: 1 });
      const runsOf = async (view: Store) => (await view.runs.listRuns()).items.map(({ runId }) => runId);
      expect(await runsOf(store.forTenant('a'))).toEqual(['shared']);
      expect((await runsOf(store)).length).toBeGreaterThan(2);
      expect(await runsOf(store.forTenant('nobody'))).toEqual([]);
      expect(await runsOf(store.forTenant('a'))).toEqual(['shared']);
    });

    it('accepts a batch of two tenants from a login that may not take the admin role', async () => {
      const store = await openStore(writer, OPTIONS);
      const results = await store.runs.appendEvents([event('a', 'batch'), event('b', 'batch')]);
      expect(results.map(({ runSeq }) => runSeq)).toEqual([1, 1]);
    });

    it('shows such a login the views of tenants, and in the plain store the default tenant', async () => {
      const store = await openStore(writer, OPTIONS);
      expect(await store.forTenant('a').runs.fetchEvents('shared')).toHaveLength(1);
      await store.kv.put('key', { field: 'value' });
      expect(await store.kv.get('key')).not.toBeNull();
      expect((await store.runs.listRuns()).items.filter(({ tenantId }) => tenantId !== 'default')).toEqual([]);
    });

    it('does not reveal that another tenant has a run id', async () => {
      const store = await openStore(app, OPTIONS);
      const { runSeq, idempotent } = await store
        .forTenant('c')
        .runs.appendEvent({ ...event('c', 'only-b'), idempotencyKey: 'same' });
      expect([runSeq, idempotent]).toEqual([1, false]);
      const client = await openClient(writer);
      await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["d"]'`);
      const insert = `
        INSERT INTO tidemark.runs (tenant_id, run_id, project_id, environment_id, plan_id, plan_version, last_seq, link, link_before, created_at, updated_at, labels, feed_epoch, feed_xid)
        VALUES ('d', 'only-b', '', '', '', '', 0, '', '', 0, 0, '{}', 1, '1')`;
      expect((await client.query(insert)).rowCount).toBe(1);
      await client.query('ROLLBACK');
    });

    it('handles a faster concurrent writer as without row-level security', async () => {
      const stores = [await openStore(app, OPTIONS), await openStore(writer, OPTIONS)];
      const same = event('a', 'race');
      const results = await Promise.all(Array.from({ length: 40 }, (_, at) => stores[at % 2]!.runs.appendEvent(same)));
      expect(new Set(results.map(({ runSeq }) => runSeq))).toEqual(new Set([1]));
      expect(results.filter(({ persisted }) => persisted)).toHaveLength(1);
    });

    it("joins the caller's transaction, and restores the caller's own list", async () => {
      const store = await openStore(app, OPTIONS);
      const client = await openClient(writer);
      await client.query(`BEGIN; SET LOCAL tidemark.tenants = '["a"]'`);
      await store.runs.appendEvents([event('b', 'joined')], { transaction: client });
      expect((await client.query("SELECT current_setting('tidemark.tenants') AS list")).rows).toEqual([
        { list: '["a"]' },
      ]);
      await client.query('COMMIT');
      expect(await store.forTenant('b').runs.fetchEvents('joined')).toHaveLength(1);
    });

    it('removes a whole run with its events', async () => {
      const store = await openStore(app, OPTIONS);
      const view = store.forTenant('gone');
      await view.runs.appendEvent(event('gone', 'run'));
      await view.runs.deleteRun('run');
      const client = await openClient(app);
      await client.query('BEGIN; SET LOCAL ROLE tidemark_admin');
      const { rows } = await client.query(
        "SELECT count(*)::int AS count FROM tidemark.run_events WHERE tenant_id = 'gone'",
      );
      expect(rows).toEqual([{ count: 0 }]);
      await client.query('ROLLBACK');
    });

    it('obeys policies that are in force, even if it did not ask for them', async () => {
      const store = await openStore(app, { migrate: false });
      expect(await store.forTenant('a').runs.fetchEvents('shared')).toHaveLength(1);
    });

    it('begins a new epoch of the feed as the operator, who sees all events', async () => {
      const admin = await openClient(urlOfDatabase(server.url, 'app'));
      const epochs = async () =>
        (await admin.query('SELECT count(*)::int AS count FROM tidemark.feed_epochs')).rows[0].count;
      onTestFinished(async () => void (await admin.query('DELETE FROM tidemark.feed_epochs WHERE epoch > 1')));
      // As after a restore from a server with higher transaction ids.
      await admin.query(
        "ALTER TABLE tidemark.run_events DISABLE TRIGGER USER; UPDATE tidemark.run_events SET xid = '999999999'::xid8 WHERE run_id = 'only-b' AND tenant_id = 'b'; ALTER TABLE tidemark.run_events ENABLE TRIGGER USER",
      );
      await openStore(app, OPTIONS);
      expect(await epochs()).toBe(2);
    });
  });
});

function event(tenantId: string, runId: string) {
  return { ...runEvent(runId), tenantId };
}

/** Returns every run that a client sees, as tenant/run, of the tenants these tests created. */
async function runsSeen(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    "SELECT tenant_id || '/' || run_id AS name FROM tidemark.runs WHERE run_id IN ('shared', 'only-b') ORDER BY 1",
  );
  return rows.map(({ name }) => name);
}

/** Inspects the tables with a plain client after an erasure or a redaction. */
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { contentsOf, fillTenant } from '../../../faults/tenant-contents.ts';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

const TABLES = `
  SELECT oid::regclass::text AS name FROM pg_class
  WHERE relnamespace = 'tidemark'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`;

/** Returns the tables with the number of rows that contain a string. */
async function rowsWith(client: pg.Client, text: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { name } of (await client.query(TABLES)).rows) {
    const sql = `SELECT count(*)::int AS count FROM ${name} AS t WHERE strpos(t::text, $1) > 0`;
    const { count } = (await client.query(sql, [text])).rows[0];
    if (count > 0) found[name] = count;
  }
  return found;
}

describe.skipIf(WITHOUT_POSTGRES)('eraseTenant', () => {
  for (const partitions of [undefined, 3]) {
    const where = partitions === undefined ? '' : ' nor partition';
    it(`leaves no row in any table${where}, and keeps other tenants intact`, { timeout: 60_000 }, async () => {
      const url = await newDatabase();
      const store = await openStore(url, partitions === undefined ? {} : { partitions });
      const client = await openClient(url);
      await fillTenant(store, 'neighbour');
      const before = await contentsOf(store, 'neighbour');
      await fillTenant(store, 'doomed');
      expect(Object.keys(await rowsWith(client, 'doomed')).length).toBeGreaterThan(15);
      const { removed } = await store.admin.eraseTenant('doomed');
      expect(removed).toMatchObject({ runs: 4, kv: 21, events: 4, updates: 10, artifacts: 4, pauses: 2, memory: 2 });
      expect(await rowsWith(client, 'doomed')).toEqual({});
      expect(await contentsOf(store, 'neighbour')).toEqual(before);
      expect((await store.admin.listTenants()).items).toEqual(['neighbour']);
    });
  }
});

describe.skipIf(WITHOUT_POSTGRES)('redactEvent', () => {
  it('is the one change that the triggers allow (RUN-15)', { timeout: 30_000 }, async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await store.runs.appendEvents([runEvent('r', '1', { text: 'secret' }), runEvent('r', '2', { text: 'public' })]);
    const change = (set: string) => client.query(`UPDATE tidemark.run_events SET ${set} WHERE run_seq = 1`);
    const redaction = `'{"payloadHash":"","at":1,"by":"b","reason":"r"}'`;
    const others = ["step_id = 's'", "extra = '{}'", 'run_seq = 9', "event_type = 'X'", 'epoch = 7', 'position = 99'];
    for (const set of ['payload = NULL', `redaction = ${redaction}`, `payload = '{}', redaction = ${redaction}`])
      await expect(change(set), set).rejects.toThrow('append-only');
    for (const other of others)
      await expect(change(`payload = NULL, redaction = ${redaction}, ${other}`), other).rejects.toThrow('append-only');
    await store.runs.redactEvent('r', 1, { tenantId: 'default', by: 'dpo', reason: 'request 1' });
    expect(await rowsWith(client, 'secret')).toEqual({});
    for (const set of [`payload = '{}'`, 'redaction = NULL', `redaction = ${redaction}`])
      await expect(change(set), set).rejects.toThrow('append-only');
    await expect(client.query('DELETE FROM tidemark.run_events WHERE run_seq = 1')).rejects.toThrow('append-only');
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 2 });
    expect(await store.runs.appendEvent(runEvent('r', '1', { text: 'secret' }))).toMatchObject({
      payloadMatches: true,
    });
  });
});

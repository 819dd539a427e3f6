/** Attacks on the log by the owner of the tables, who has all privileges and is refused by triggers (RUN-15). */
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { planMigrations } from '../src/index.ts';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

const SECRET = { text: 'secret' };

async function attacked(partitions?: number) {
  const url = await newDatabase();
  const store = await openStore(url, partitions === undefined ? {} : { partitions });
  for (const run of ['r', 's', 't', 'u'])
    await store.runs.appendEvents([runEvent(run, 'a', SECRET), runEvent(run, 'b')]);
  const client = await openClient(url);
  return { store, client, url };
}

async function logsOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relname ~ '^run_events(_p\\d+)?$' AND relkind IN ('r', 'p') ORDER BY 1",
  );
  return rows.map(({ name }) => name);
}

describe.skipIf(WITHOUT_POSTGRES)('the owner of the tables', () => {
  it.each([[undefined], [4]])('can truncate neither the log nor one of its partitions (%j)', async (partitions) => {
    const { store, client } = await attacked(partitions);
    const logs = await logsOf(client);
    expect(logs).toHaveLength(1 + (partitions ?? 0));
    for (const log of logs) {
      await expect(client.query(`TRUNCATE ${log}`), log).rejects.toThrow('append-only');
      await expect(client.query(`TRUNCATE ${log} CASCADE`), log).rejects.toThrow('append-only');
      await expect(client.query(`DELETE FROM ${log}`), log).rejects.toThrow('append-only');
      await expect(client.query(`UPDATE ${log} SET payload = '{}'`), log).rejects.toThrow('append-only');
    }
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 2 });
  });

  it('guards a partition added later with one call, and doctor asks for it', async () => {
    const { store, client } = await attacked(2);
    const finding = async () => (await store.doctor()).findings.find(({ check }) => check === 'append-only');
    expect(await finding()).toMatchObject({ status: 'ok' });
    await client.query(`
      BEGIN; ALTER TABLE tidemark.run_events DETACH PARTITION tidemark.run_events_p1;
      CREATE TABLE tidemark.run_events_p1a PARTITION OF tidemark.run_events FOR VALUES WITH (MODULUS 4, REMAINDER 1);
      CREATE TABLE tidemark.run_events_p1b PARTITION OF tidemark.run_events FOR VALUES WITH (MODULUS 4, REMAINDER 3);
      COMMIT`);
    expect(await finding()).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('run_events_never_truncated on tidemark.run_events_p1a'),
      fix: expect.stringContaining('tidemark.guard_partitions()'),
    });
    await client.query('SELECT tidemark.guard_partitions()');
    expect(await finding()).toMatchObject({ status: 'ok' });
    await expect(client.query('TRUNCATE tidemark.run_events_p1b')).rejects.toThrow('append-only');
  });

  it('is named by doctor when it disables a trigger', async () => {
    const { store, client } = await attacked();
    await client.query('ALTER TABLE tidemark.run_events DISABLE TRIGGER run_events_never_change');
    const { findings } = await store.doctor();
    expect(findings.find(({ check }) => check === 'append-only')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('run_events_never_change on tidemark.run_events'),
    });
  });

  it('cannot redact without the hash of the payload, and a redaction is counted and records the login', async () => {
    const { store, client } = await attacked();
    const redact = (redaction: unknown) =>
      client.query("UPDATE tidemark.run_events SET payload = NULL, redaction = $1 WHERE run_id = 'r' AND run_seq = 1", [
        JSON.stringify(redaction),
      ]);
    for (const forged of [{}, { payloadHash: '' }, { payloadHash: '0'.repeat(64), at: 1, by: 'b', reason: 'r' }])
      await expect(redact(forged)).rejects.toThrow('append-only');
    await store.runs.redactEvent('r', 1, { tenantId: 'default', by: 'dpo', reason: 'request 1' });
    const { rows } = await client.query(
      "SELECT redacted_as, rewrites FROM tidemark.run_events JOIN tidemark.runs USING (tenant_id, run_id) WHERE run_id = 'r' AND run_seq = 1",
    );
    expect(rows).toEqual([{ redacted_as: 'postgres', rewrites: '1' }]);
    expect(await store.runs.verify('r')).toMatchObject({ ok: true });
  });

  it('redacts an event without a payload, and one with NUL and half a surrogate pair', async () => {
    const { store } = await attacked();
    const difficult = { nul: 'a\u0000b', half: '\ud800', text: 'Grüße 🌊' };
    await store.runs.appendEvents([runEvent('v', '1', difficult), { ...runEvent('v', '2'), payload: undefined }]);
    for (const runSeq of [1, 2])
      expect(await store.runs.redactEvent('v', runSeq, { by: 'dpo', reason: 'request 1' })).toBe(true);
    expect(await store.runs.redactEvent('v', 2, { by: 'dpo', reason: 'again' }), 'the first one stays').toBe(true);
    expect(await store.runs.position('v')).toMatchObject({ rewrites: 2 });
    expect(await store.runs.verify('v')).toMatchObject({ ok: true, events: 2 });
  });
});

/** The newest schema that version 0.1 knows, besides those of options. */
const SCHEMA_OF_0_1 = 7;

describe('a schema that the current library has upgraded', () => {
  it('is rejected by version 0.1, which does not know `rewrites` (UPG-1)', () => {
    const plan = planMigrations().map(({ name, oldestReader }) => ({ name, oldestReader }));
    expect(plan).toContainEqual({ name: 'rewrites', oldestReader: SCHEMA_OF_0_1 + 1 });
    expect(plan.find(({ name }) => name === 'guards')!.oldestReader).toBeLessThanOrEqual(SCHEMA_OF_0_1);
  });
});

/**
 * Attacks on the log with a plain connection: the triggers are part of the file and apply to every program (RUN-15).
 */
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkReadable, loadMigrations } from '../src/migrations.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';

/** The columns of an event copied from run `r`, with some of them changed. */
function copied(changes: Record<string, string>, columns: readonly string[]): string {
  const values = columns.map((column) => changes[column] ?? column);
  return `(${columns.join(', ')}) SELECT ${values.join(', ')} FROM run_events WHERE run_id = 'r' AND run_seq = 2`;
}

async function attacked(recursiveTriggers: boolean) {
  const path = newPath();
  const store = await openStore(path);
  await store.runs.appendEvents(['a', 'b', 'c'].map((key) => runEvent('r', key)));
  await store.runs.appendEvent(runEvent('other', 'a'));
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(`PRAGMA recursive_triggers = ${recursiveTriggers ? 'ON' : 'OFF'}`);
  const rows = () => database.prepare('SELECT * FROM run_events ORDER BY position').all();
  const columns = database
    .prepare("SELECT name FROM pragma_table_info('run_events')")
    .all()
    .map(({ name }) => String(name));
  return { store, database, rows, columns };
}

describe.each([false, true])('a connection with recursive_triggers %j', (recursive) => {
  it.each<[string, Record<string, string>]>([
    ['its sequence', { position: 'NULL', idempotency_key: "'new'" }],
    ['its key', { position: 'NULL', run_seq: '4' }],
    ['its sequence and key', { position: 'NULL' }],
    ['its position', { run_seq: '9', idempotency_key: "'new'" }],
    ['its position, from another run', { run_id: "'other'", run_seq: '9', idempotency_key: "'new'" }],
    ['everything but the payload', {}],
  ])('cannot replace an event by %s', async (_, changes) => {
    const { store, database, rows, columns } = await attacked(recursive);
    const before = rows();
    const values = copied({ payload: `'{"forged":true}'`, ...changes }, columns);
    for (const verb of ['INSERT OR REPLACE', 'REPLACE'])
      expect(() => database.exec(`${verb} INTO run_events ${values}`), verb).toThrow('append-only');
    for (const verb of ['INSERT', 'INSERT OR ABORT', 'INSERT OR FAIL', 'INSERT OR ROLLBACK'])
      expect(() => database.exec(`${verb} INTO run_events ${values}`), verb).toThrow('UNIQUE constraint failed');
    expect(database.prepare(`INSERT OR IGNORE INTO run_events ${values}`).run().changes).toBe(0);
    expect(rows()).toEqual(before);
    for (const run of ['r', 'other']) expect((await store.runs.verify(run)).ok).toBe(true);
  });

  it('cannot DELETE the guard row, and the store still works', async () => {
    const { store, database } = await attacked(recursive);
    expect(() => database.exec('DELETE FROM run_events_guard')).toThrow('append-only');
    expect(() => database.exec('UPDATE run_events_guard SET id = 2')).toThrow('CHECK constraint failed');
    expect(() => database.exec('INSERT OR REPLACE INTO run_events_guard VALUES (1)')).toThrow('append-only');
    expect(await store.runs.appendEvent(runEvent('r', 'd'))).toMatchObject({ runSeq: 4, persisted: true });
  });

  it.each(['run_seq = 1', 'position = 1', "idempotency_key = 'a'", "run_id = 'other'", "payload = '{}'"])(
    'cannot UPDATE OR REPLACE with %s',
    async (change) => {
      const { database, rows } = await attacked(recursive);
      const before = rows();
      const update = `UPDATE OR REPLACE run_events SET ${change} WHERE run_id = 'r' AND run_seq = 2`;
      expect(() => database.exec(update)).toThrow('append-only');
      expect(rows()).toEqual(before);
    },
  );
});

describe('a redaction by hand', () => {
  it('is counted by its run, so that anything derived from the payload is outdated', async () => {
    const { store, database } = await attacked(false);
    const [event] = await store.runs.fetchEvents('r');
    const payloadHash = createHash('sha256').update(JSON.stringify(event!.payload)).digest('hex');
    const redaction = JSON.stringify({ payloadHash, at: 1, by: 'b', reason: 'r' });
    database
      .prepare("UPDATE run_events SET payload = NULL, redaction = ? WHERE run_id = 'r' AND run_seq = 1")
      .run(redaction);
    expect(await store.runs.position('r')).toMatchObject({ rewrites: 1 });
    expect((await store.runs.verify('r')).ok).toBe(true);
  });

  it('with another hash is found by verify', async () => {
    const { store, database } = await attacked(false);
    const redaction = JSON.stringify({ payloadHash: '0'.repeat(64), at: 1, by: 'b', reason: 'r' });
    database
      .prepare("UPDATE run_events SET payload = NULL, redaction = ? WHERE run_id = 'r' AND run_seq = 1")
      .run(redaction);
    expect(await store.runs.verify('r')).toMatchObject({ ok: false, problem: { runSeq: 1 } });
  });
});

describe('a store with guards', () => {
  it('still recognises duplicates, alone and in a batch', async () => {
    const { store } = await attacked(false);
    const again = await store.runs.appendEvent(runEvent('r', 'b'));
    expect(again).toMatchObject({ runSeq: 2, idempotent: true, persisted: false });
    const batch = await store.runs.appendEvents(['a', 'd'].map((key) => runEvent('r', key)));
    expect(batch.map(({ runSeq }) => runSeq)).toEqual([1, 4]);
  });

  it('reports a missing trigger', async () => {
    const { store, database } = await attacked(false);
    const finding = async () => (await store.doctor()).findings.find(({ check }) => check === 'append-only');
    expect(await finding()).toMatchObject({ status: 'ok' });
    database.exec('DROP TRIGGER run_events_never_replaced');
    expect(await finding()).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('run_events_never_replaced'),
    });
  });
});

/** The newest schema that version 0.1 knows. */
const SCHEMA_OF_0_1 = 6;

describe('a file that the current library has upgraded', () => {
  const migrations = loadMigrations().map(({ version, name, oldestReader }) => ({
    version,
    name,
    oldest_reader: oldestReader,
  }));

  it('is rejected by version 0.1, which does not know `rewrites` (UPG-1)', () => {
    expect(() => checkReadable(migrations, SCHEMA_OF_0_1, 'store.db')).toThrow(
      /store\.db was written by a newer Tidemark \(schema \d+; this library knows 6\): update the tidemark packages/,
    );
  });

  it('is not rejected because of its guards', () => {
    const guards = migrations.filter(({ name }) => name === 'guards');
    expect(() => checkReadable(guards, SCHEMA_OF_0_1, 'store.db')).not.toThrow();
  });
});

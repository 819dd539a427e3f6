/** The schema: which versions may open a file, how it is migrated, and that its events cannot be changed. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadMigrations } from '../src/migrations.ts';
import { sqliteStore } from '../src/store.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';
import { startNode } from './programs.ts';

const NEWEST = loadMigrations().at(-1)!.version;

/** Opens the given store, appends one event to its own run, and prints that. */
const OPENER = `
  import { sqliteStore } from '@tidemark/sqlite';
  const store = await sqliteStore(process.argv[1]);
  await store.runs.handle('run-' + process.pid).append('RunStarted');
  await store.close();
  console.log('opened');`;

function rawHandle(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}

async function fileWithSchema(version: number, oldestReader: number): Promise<string> {
  const path = newPath();
  await (await sqliteStore(path)).close();
  const database = new DatabaseSync(path);
  database
    .prepare('INSERT INTO tidemark_migrations (version, name, oldest_reader, applied_at) VALUES (?, ?, ?, 0)')
    .run(version, 'of_tomorrow', oldestReader);
  database.close();
  return path;
}

function migrationsOf(path: string): number[] {
  const rows = rawHandle(path).prepare('SELECT version FROM tidemark_migrations ORDER BY version').all();
  return rows.map((row) => Number(row.version));
}

describe('a stored event', () => {
  it('cannot be changed or removed by another handle on the file (RUN-15)', async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    const other = rawHandle(path);
    expect(() => other.exec("UPDATE run_events SET payload = '{}'")).toThrow('append-only');
    expect(() => other.exec('UPDATE run_events SET run_seq = 2')).toThrow('append-only');
    expect(() => other.exec('DELETE FROM run_events')).toThrow('append-only');
    expect((await store.runs.verify('r')).ok).toBe(true);
    expect(await store.runs.deleteRun('r'), 'the store itself removes whole runs').toBe(true);
    expect(other.prepare('SELECT count(*) AS count FROM run_events').get()).toMatchObject({ count: 0 });
  });
});

describe('a file of another version', () => {
  it('is rejected with an explanation when only a newer library can read it (F20)', async () => {
    const path = await fileWithSchema(NEWEST + 3, NEWEST + 1);
    await expect(sqliteStore(path)).rejects.toMatchObject({
      code: 'SCHEMA_MISMATCH',
      current: NEWEST + 3,
      message: expect.stringMatching(
        /newer Tidemark \(schema \d+; this library knows \d+\): update the tidemark packages/,
      ),
    });
  });

  it("' opens when the newer version allows this one to run at the same time (F20)", async () => {
    const store = await openStore(await fileWithSchema(NEWEST + 1, NEWEST));
    expect((await store.runs.appendEvent(runEvent('r'))).runSeq).toBe(1);
  });

  it('is migrated from any older version', async () => {
    for (const { version } of loadMigrations().slice(0, -1)) {
      const path = newPath();
      const database = rawHandle(path);
      database.exec(
        'CREATE TABLE tidemark_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, oldest_reader INTEGER NOT NULL, applied_at INTEGER NOT NULL) STRICT',
      );
      for (const older of loadMigrations().filter((it) => it.version <= version)) {
        database.exec(older.sql);
        database
          .prepare('INSERT INTO tidemark_migrations VALUES (?, ?, ?, 0)')
          .run(older.version, older.name, older.oldestReader);
      }
      database.close();
      const store = await openStore(path);
      expect((await store.runs.appendEvent(runEvent('r'))).runSeq).toBe(1);
      expect(migrationsOf(path)).toEqual(loadMigrations().map((it) => it.version));
    }
  });
});

/** Reverts a file to the schema before the migration `rewrites`. */
const SINCE_REWRITES = [
  "DELETE FROM tidemark_migrations WHERE name IN ('rewrites', 'requests', 'quarantines', 'checksums', 'guards')",
  'DROP TRIGGER run_events_never_replaced',
  'DROP TRIGGER run_events_count_redactions',
  'DROP TABLE run_events_guard',
  ...['kv_records', 'kv_fields', 'memory_states', 'planner_pauses', 'remote_bindings', 'artifact_chunks'].flatMap(
    (table) => [`DROP TRIGGER ${table}_sum`, `ALTER TABLE ${table} DROP COLUMN sum`],
  ),
  'ALTER TABLE artifact_blobs DROP COLUMN sums',
  'ALTER TABLE runs DROP COLUMN rewrites',
  'ALTER TABLE run_snapshots DROP COLUMN rewrites',
  'DROP TABLE run_quarantines',
  'DROP TABLE run_releases',
  'DROP TABLE requests',
  'DROP TABLE store_clock',
  'DROP INDEX memory_states_deleted',
  'ALTER TABLE memory_states DROP COLUMN deleted_at',
  'ALTER TABLE planner_pauses DROP COLUMN kept_until',
];

describe('a file from before runs counted their rewrites', () => {
  it('keeps its snapshots, and counts from its next redaction on (RUN-15)', async () => {
    const path = newPath();
    const before = await sqliteStore(path);
    for (const key of ['a', 'b']) await before.runs.appendEvent(runEvent('r', key));
    const { snapshot } = await before.runs.refreshSnapshot('r');
    await before.close();
    const database = rawHandle(path);
    for (const undo of SINCE_REWRITES) database.exec(undo);
    database.close();
    const store = await openStore(path);
    expect(await store.runs.position('r')).toMatchObject({ lastEventSeq: 2, rewrites: 0 });
    expect(await store.runs.getSnapshot('r')).toEqual(snapshot);
    await store.runs.redactEvent('r', 1, { by: 'officer', reason: 'request 4711' });
    expect(await store.runs.position('r')).toMatchObject({ lastEventSeq: 2, rewrites: 1 });
    expect((await store.runs.getSnapshot('r'))?.redactions).toBe(1);
  });
});

describe('an empty path', () => {
  it('opened by eight processes at once becomes one store with one set of migrations', {
    timeout: 60_000,
  }, async () => {
    const path = newPath();
    const openers = Array.from({ length: 8 }, () => startNode({ source: OPENER }, path));
    for (const { ended } of openers) expect(await ended).toMatchObject({ code: 0, stdout: 'opened\n', stderr: '' });
    expect(migrationsOf(path)).toEqual(loadMigrations().map((it) => it.version));
    const store = await openStore(path);
    expect((await store.runs.listRuns()).items).toHaveLength(8);
  });

  it('opens after its first opener was killed in the middle of a migration (F20)', { timeout: 60_000 }, async () => {
    const path = newPath();
    const [first, second] = loadMigrations();
    const interrupted = `
      import { DatabaseSync } from 'node:sqlite';
      import { loadMigrations } from '@tidemark/sqlite';
      const database = new DatabaseSync(process.argv[1]);
      database.exec('PRAGMA journal_mode = WAL; CREATE TABLE tidemark_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, oldest_reader INTEGER NOT NULL, applied_at INTEGER NOT NULL) STRICT');
      const [first, second] = loadMigrations();
      database.exec('BEGIN IMMEDIATE; ' + first.sql);
      database.exec("INSERT INTO tidemark_migrations VALUES (1, 'runs', 1, 0)");
      database.exec('COMMIT; BEGIN IMMEDIATE; ' + second.sql);
      // More than the cache holds, so that half a migration is in the WAL when the process dies.
      database.exec('PRAGMA cache_size = 5; CREATE TABLE filler (bytes BLOB)');
      for (let i = 0; i < 200; i++) database.exec('INSERT INTO filler VALUES (randomblob(3000))');
      console.log('half way');
      setInterval(() => {}, 1000);`;
    const program = startNode({ source: interrupted }, path);
    await program.said('half way');
    program.child.kill('SIGKILL');
    await program.ended;
    expect([first!.version, second!.version]).toEqual([1, 2]);
    const store = await openStore(path);
    await store.kv.put('k', { field: 'value' });
    expect(migrationsOf(path)).toEqual(loadMigrations().map((it) => it.version));
    expect(rawHandle(path).prepare("SELECT 1 FROM sqlite_schema WHERE name = 'filler'").get()).toBeUndefined();
  });

  it('opens whenever its openers are killed at random moments', { timeout: 60_000 }, async () => {
    const path = newPath();
    for (let round = 0; round < 4; round++) {
      const opener = startNode({ source: OPENER }, path);
      await sleep(80 + round * 40);
      opener.child.kill('SIGKILL');
      await opener.ended;
    }
    const store = await openStore(path);
    expect((await store.runs.appendEvent(runEvent('r'))).runSeq).toBe(1);
    expect(migrationsOf(path)).toEqual(loadMigrations().map((it) => it.version));
  });
});

/** Setting up by hand, several schemas in one database, and a dump restored into another cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FeedItem, isTidemarkError } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { postgresClient } from '../../../scripts/fixtures/postgres-client.ts';
import { runQuietly } from '../../../scripts/processes.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import { migrationScript, postgresStore } from '../src/index.ts';
import { keysOf, newDatabase, openStore, readFeed, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { createDatabase, withClient } from './servers.ts';

async function runClient(name: 'psql' | 'pg_dump' | 'pg_restore', ...args: string[]): Promise<void> {
  const { code, output } = await runQuietly(postgresClient(name), args);
  expect(code, output).toBe(0);
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-postgres-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe.skipIf(WITHOUT_POSTGRES)('the migration script', () => {
  it.each([
    ['plain', {}],
    ['with partitions', { partitions: 8 }],
    ['with row-level security, in a schema of its own', { rowLevelSecurity: true, schema: 'elsewhere' }],
  ])('%s runs through psql on an empty database, and the store opens on it without migrating', async (_, options) => {
    const url = await newDatabase();
    const file = join(newFolder(), 'schema.sql');
    writeFileSync(file, migrationScript(options));
    await runClient('psql', url, '--no-psqlrc', '--quiet', '--set', 'ON_ERROR_STOP=1', '--file', file);
    const store = await openStore(url, { ...options, migrate: false });
    expect(await store.runs.appendEvent(runEvent('r', 'a'))).toMatchObject({ runSeq: 1 });
    expect(await keysOf(store, 'r')).toEqual(['a']);
  });

  it('is requested in the error when a store that may not migrate finds no schema', async () => {
    const url = await newDatabase();
    const error: unknown = await openStore(url, { migrate: false }).catch((reason: unknown) => reason);
    expect(isTidemarkError(error, 'SCHEMA_MISMATCH')).toBe(true);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('two schemas in one database', () => {
  it('do not see each other', async () => {
    const url = await newDatabase();
    const [one, two] = await Promise.all([openStore(url, { schema: 'one' }), openStore(url, { schema: 'two' })]);
    await one.runs.appendEvent(runEvent('r', 'of one'));
    await two.runs.appendEvents([runEvent('r', 'of two'), runEvent('r', 'more')]);
    expect(await keysOf(one, 'r')).toEqual(['of one']);
    expect(await keysOf(two, 'r')).toEqual(['of two', 'more']);
    expect((await readFeed(one, 1)).items.length).toBe(1);
    await one.runs.deleteRun('r');
    expect(await keysOf(two, 'r')).toEqual(['of two', 'more']);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a dump restored into another cluster with lower transaction ids', () => {
  const keysIn = (items: readonly FeedItem[]) => items.map(({ event }) => event.idempotencyKey);

  it('keeps every event, its chain, and the feed’s cursors (F21)', { timeout: 90_000 }, async () => {
    const url = await newDatabase();
    // Ids far ahead of the new cluster's.
    await withClient(url, async (client) => {
      await client.query('CREATE TABLE burnt (id int); SET synchronous_commit = off');
      await client.query('DO $$ BEGIN FOR i IN 1..5000 LOOP INSERT INTO burnt VALUES (i); COMMIT; END LOOP; END $$');
    });
    const before = await postgresStore({ url });
    await before.runs.appendEvents([runEvent('r', 'a'), runEvent('r', 'b')]);
    const { next } = await readFeed(before, 2);
    await before.runs.appendEvent(runEvent('r', 'c'));
    await before.close();

    const dump = join(newFolder(), 'dump');
    await runClient('pg_dump', '--format=custom', '--schema=tidemark', `--file=${dump}`, url);
    const server = await startOwnServer('postgres');
    onTestFinished(() => server.stop());
    const restored = await createDatabase(server.url);
    await runClient('pg_restore', '--exit-on-error', `--dbname=${restored}`, dump);

    const store = await openStore(restored);
    expect(await keysOf(store, 'r')).toEqual(['a', 'b', 'c']);
    const tail = await readFeed(store, 1, next);
    expect(keysIn(tail.items)).toEqual(['c']);
    expect(await store.runs.appendEvent(runEvent('r', 'd'))).toMatchObject({ runSeq: 4 });
    await store.runs.appendEvent(runEvent('new', 'e'));
    const after = await readFeed(store, 2, tail.next);
    expect(keysIn(after.items)).toEqual(['d', 'e']);
    expect(keysIn((await readFeed(store, 5)).items)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 4 });
  });
});

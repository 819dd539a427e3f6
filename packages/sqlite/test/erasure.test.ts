/** Inspects the file and its directory directly after an erasure for remains. */
import { readdirSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { contentsOf, fillTenant } from '../../../faults/tenant-contents.ts';
import { artifactsDirectory } from '../src/backup.ts';
import { newPath, openStore } from './fixtures.ts';

/** Returns the rows of all tables that contain a string, as `table: row`. */
function rowsWith(path: string, text: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => database.close());
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[];
  return tables.flatMap(({ name }) =>
    database
      .prepare(`SELECT * FROM "${name}"`)
      .all()
      .map((row) =>
        Object.values(row).map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString() : cell)),
      )
      .filter((row) => row.join(' ').includes(text))
      .map((row) => `${name}: ${row.join(' ').slice(0, 200)}`),
  );
}

function filesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

describe('eraseTenant', () => {
  it('leaves no row in any table and no file, and keeps other tenants intact', { timeout: 60_000 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    await fillTenant(store, 'neighbour');
    const [before, files] = [await contentsOf(store, 'neighbour'), filesIn(artifactsDirectory(path))];
    await fillTenant(store, 'doomed');
    expect(rowsWith(path, 'doomed').length).toBeGreaterThan(100);
    expect(filesIn(artifactsDirectory(path))).toBe(files * 2);
    const { removed } = await store.admin.eraseTenant('doomed');
    expect(removed).toMatchObject({ runs: 4, kv: 21, events: 4, updates: 10, artifacts: 4, pauses: 2, memory: 2 });
    expect(rowsWith(path, 'doomed')).toEqual([]);
    expect(filesIn(artifactsDirectory(path))).toBe(files);
    expect(await contentsOf(store, 'neighbour')).toEqual(before);
    expect((await store.admin.listTenants()).items).toEqual(['neighbour']);
  });
});

describe('eraseSession', () => {
  it('leaves no row and no file of the session', { timeout: 60_000 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    await fillTenant(store, 'tenant');
    const files = filesIn(artifactsDirectory(path));
    await store.admin.eraseSession('session-1', { tenantId: 'tenant' });
    // Events without a trace name the session only as their node.
    const left = rowsWith(path, 'session-1').filter((row) => !row.startsWith('flow_events'));
    expect(left).toEqual([]);
    expect(filesIn(artifactsDirectory(path))).toBe(files - 1);
    expect(rowsWith(path, 'session-2').length).toBeGreaterThan(10);
  });
});

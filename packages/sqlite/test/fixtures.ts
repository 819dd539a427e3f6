/** Files in temporary folders that go when the test ends, and events to put into them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type SqliteOptions, type SqliteStore, sqliteStore } from '../src/store.ts';

export { runEvent } from '../../../faults/run-event.ts';

/** The name of a file that is not there yet, in a folder of its own. */
export function newPath(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'tidemark-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'store.db');
}

/** A store that is closed when the test ends. */
export async function openStore(path: string, options: Omit<SqliteOptions, 'path'> = {}): Promise<SqliteStore> {
  const store = await sqliteStore({ ...options, path });
  onTestFinished(() => store.close());
  return store;
}

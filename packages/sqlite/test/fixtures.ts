/** Files in temporary folders that are removed when the test ends, and events to store in them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type SqliteOptions, type SqliteStore, sqliteStore } from '../src/store.ts';

export { runEvent } from '../../../faults/run-event.ts';

/** Returns the name of a file that does not exist yet, in a new folder. */
export function newPath(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'tidemark-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'store.db');
}

/** Opens a store that is closed when the test ends. */
export async function openStore(path: string, options: Omit<SqliteOptions, 'path'> = {}): Promise<SqliteStore> {
  const store = await sqliteStore({ ...options, path });
  onTestFinished(() => store.close());
  return store;
}

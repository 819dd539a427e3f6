/** The whole conformance kit through client and server, on SQLite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from '@tidemark/sqlite';
import { registerKit } from './kit.ts';

registerKit('Over HTTP on SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-server-'));
  return {
    open: () => sqliteStore(join(folder, 'store.db')),
    remove: () => rmSync(folder, { recursive: true }),
  };
});

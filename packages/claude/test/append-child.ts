/**
 * Appends entries to a session on a SQLite file, one call per entry, and writes the uuid of each acknowledged entry.
 * Arguments: the file, the prefix of the uuids, and the number of entries.
 */
import type { SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import { sqliteStore } from '@tidemark/sqlite';
import { TidemarkSessionStore } from '../src/index.ts';
import { SESSION, summaryEntry } from './entries.ts';

const [path, prefix, count] = process.argv.slice(2) as [string, string, string];
const store = await sqliteStore(path);
const sessions = new TidemarkSessionStore(store);
for (let at = 0; at < Number(count); at++) {
  const entry: SessionStoreEntry = summaryEntry(`${prefix}-${at}`);
  await sessions.append(SESSION, [entry]);
  process.stdout.write(`${entry.uuid}\n`);
}
await store.close();

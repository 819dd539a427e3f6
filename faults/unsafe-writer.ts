/**
 * The negative control of the power failure test: the bare driver with settings that many libraries use by default (WAL
 * with synchronous NORMAL, or OFF). It acknowledges commits that are not on disk. A rig that loses none of them proves
 * nothing.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { lineOf } from './notes.ts';

const { values } = parseArgs({
  options: { path: { type: 'string' }, synchronous: { type: 'string', default: 'NORMAL' } },
});

const database = new DatabaseSync(values.path!);
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${values.synchronous}`);
database.exec('CREATE TABLE events (seq INTEGER PRIMARY KEY, key TEXT NOT NULL, event_id TEXT NOT NULL) STRICT');
const insert = database.prepare('INSERT INTO events (key, event_id) VALUES (?, ?)');
for (let count = 1; ; count++) {
  const write = { run: 'bare', key: String(count), eventId: randomUUID() };
  writeSync(1, lineOf({ kind: 'sent', ...write }));
  insert.run(write.key, write.eventId);
  writeSync(1, lineOf({ kind: 'acked', ...write, runSeq: count }));
  await sleep(1);
}

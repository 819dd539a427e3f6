/**
 * A writer that can be killed at any moment: appends to the SQLite store at --path, or to the store at --url, and notes
 * each write on standard output, before the call and after the result, without buffering. First it retries the writes
 * that --notes left unsettled.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type AppendResult, isTidemarkError, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { open } from 'tidemark';
import { type Note, unsettled, type Write } from './history.ts';
import { eventOf, lineOf, readNotes } from './notes.ts';

const BATCH = 3;

const { values } = parseArgs({
  options: {
    path: { type: 'string' },
    url: { type: 'string' },
    notes: { type: 'string' },
    round: { type: 'string', default: '0' },
    callers: { type: 'string', default: '8' },
    runs: { type: 'string', default: '4' },
    /** Exits after this many writes of each caller. By default only a signal ends it. */
    writes: { type: 'string', default: 'Infinity' },
  },
});

function note(entry: Note): void {
  writeSync(1, lineOf(entry));
}

/** Appends and notes. Returns whether the store still accepts writes. */
async function write(store: Store, writes: readonly Write[], batch?: string): Promise<boolean> {
  const marked = batch === undefined ? {} : { batch };
  for (const it of writes) note({ kind: 'sent', ...it, ...marked });
  let results: AppendResult[];
  try {
    results = await store.runs.appendEvents(writes.map(eventOf));
  } catch (error) {
    if (!isTidemarkError(error)) throw error;
    const kind = error.outcome === 'unknown' ? 'unknown' : 'rejected';
    for (const it of writes) note({ kind, ...it, code: error.code });
    return !isTidemarkError(error, 'STORAGE_FULL');
  }
  results.forEach(({ runSeq, eventId }, index) => {
    const { run, key } = writes[index]!;
    note({ kind: 'acked', run, key, eventId, runSeq });
  });
  return true;
}

async function call(store: Store, caller: number): Promise<void> {
  for (let count = 0; count < Number(values.writes); count++) {
    const round = values.round;
    // One run continues through all rounds, so that a reopened log is also continued.
    const run = count % 4 === 3 ? 'hot' : `run-${round}-${(caller + count) % Number(values.runs)}`;
    const name = `${round}.${caller}.${count}`;
    const size = count % 8 === 5 ? BATCH : 1;
    const writes = Array.from({ length: size }, (_, index) => ({
      run,
      key: `${name}.${index}`,
      eventId: randomUUID(),
    }));
    if (!(await write(store, writes, size > 1 ? name : undefined))) return;
  }
}

const store = values.url === undefined ? await sqliteStore(values.path!) : await open(values.url);
if (values.notes !== undefined) {
  for (const { writes, batch } of unsettled(readNotes(values.notes))) await write(store, writes, batch);
}
await Promise.all(Array.from({ length: Number(values.callers) }, (_, caller) => call(store, caller)));
try {
  await store.close();
} catch (error) {
  // A broken disk may refuse the last checkpoint. Acknowledged writes are already synced.
  if (!isTidemarkError(error)) throw error;
}

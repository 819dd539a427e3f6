/**
 * A writer of any version: opens the store at --url with the package --from, appends to shared runs and reads them, and
 * notes each write on standard output, before the call and after the result. It retries a write that failed with the
 * same key. SIGTERM ends it after the current writes; an event that it cannot read, or another error, at once.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store, TidemarkError } from '@tidemark/core';
import type { Note, Write } from './history.ts';
import { eventOf, lineOf } from './notes.ts';

const CALLERS = 3;
const READ_EVENTS = 20;
const RETRY_MS = 20;

/** The packages of engines export one of these. */
interface EnginePackage {
  openUrl?: (url: string, options: object) => Promise<Store>;
  sqliteStore?: (path: string) => Promise<Store>;
}

const { values } = parseArgs({
  options: { from: { type: 'string' }, url: { type: 'string' }, name: { type: 'string' }, runs: { type: 'string' } },
});
const runs = values.runs!.split(',');
let isStopped = false;
process.on('SIGTERM', () => {
  isStopped = true;
});

function note(entry: Note): void {
  writeSync(1, lineOf(entry));
}

async function write(store: Store, it: Write): Promise<number> {
  for (;;) {
    note({ kind: 'sent', ...it });
    try {
      const { runSeq } = await store.runs.appendEvent(eventOf(it));
      note({ kind: 'acked', ...it, runSeq });
      return runSeq;
    } catch (error) {
      const { code, retryable, outcome } = error as TidemarkError;
      if (!retryable) throw error;
      note({ kind: outcome === 'unknown' ? 'unknown' : 'rejected', ...it, code });
      await sleep(RETRY_MS);
    }
  }
}

async function call(store: Store, caller: number): Promise<void> {
  for (let count = 0; !isStopped; count++) {
    const run = runs[(caller + count) % runs.length]!;
    const runSeq = await write(store, { run, key: `${values.name}.${caller}.${count}`, eventId: randomUUID() });
    const afterSeq = Math.max(0, runSeq - READ_EVENTS);
    const events = await store.runs.fetchEvents(run, { tenantId: 'faults', afterSeq, limit: READ_EVENTS });
    if (!events.some((event) => event.runSeq === runSeq)) throw new Error(`Event ${runSeq} of ${run} was not read`);
  }
}

const { openUrl, sqliteStore } = (await import(values.from!)) as EnginePackage;
const store = openUrl ? await openUrl(values.url!, {}) : await sqliteStore!(values.url!);
await Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(store, caller)));
await store.close();

/**
 * One of several processes on one run: opens the store, prints that, and after a line on standard input appends from
 * many callers while a reader follows by watermark. Prints its notes with the host's monotonic clock, which all
 * processes share.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import type { Note } from '../../../faults/history.ts';
import { eventOf } from '../../../faults/notes.ts';

const [url, processNo, writers, events, total] = process.argv.slice(2) as [string, string, string, string, string];
const RUN = 'hot';

export type TimedNote = Note & { at: string };
export interface ChildReport {
  notes: TimedNote[];
  /** Every sequence that the watermark reader received, in order. */
  read: number[];
}

const notes: TimedNote[] = [];
const note = (entry: Note) => notes.push({ ...entry, at: String(process.hrtime.bigint()) });

async function write(store: Store, writer: number): Promise<void> {
  for (let count = 0; count < Number(events); count++) {
    const it = { run: RUN, key: `${processNo}.${writer}.${count}`, eventId: randomUUID() };
    note({ kind: 'sent', ...it });
    const { runSeq } = await store.runs.appendEvent(eventOf(it));
    note({ kind: 'acked', ...it, runSeq });
  }
}

async function readByWatermark(store: Store): Promise<number[]> {
  const read: number[] = [];
  while (read.length < Number(total)) {
    const page = await store.runs.fetchEvents(RUN, { afterSeq: read.at(-1) ?? 0, tenantId: 'faults' });
    read.push(...page.map(({ runSeq }) => runSeq));
    if (page.length === 0) await sleep(5);
  }
  return read;
}

const store = await postgresStore({ url, maxConnections: 5, timeoutMs: 30_000 });
process.stdout.write('open\n');
if (Number(writers) > 0) {
  await once(process.stdin, 'data');
  const reading = readByWatermark(store);
  await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => write(store, writer)));
  process.stdout.write(`${JSON.stringify({ notes, read: await reading } satisfies ChildReport)}\n`);
}
await store.close();
process.stdin.destroy();

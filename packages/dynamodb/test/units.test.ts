/** The cost of operations, in the units by which AWS bills. The table in docs/dynamodb.md must have the same numbers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { ROOT } from '../../../scripts/processes.ts';
import { openMetered } from '../src/store.ts';
import { ownTables, WITHOUT_DYNAMODB } from './servers.ts';

interface Units {
  read: number;
  write: number;
}

const READS = /^(GetItem|BatchGetItem|Query)$/;
const TENANT = { tenantId: 'default' };

/** Opens a store and returns a function that measures a call. */
async function openMeasured() {
  let units: Units = { read: 0, write: 0 };
  const store = await openMetered({ ...ownTables(), timeoutMs: 30_000 }, (operation, count) => {
    if (READS.test(operation)) units.read += count;
    else units.write += count;
  });
  onTestFinished(() => store.close());
  const measure = async (call: () => Promise<unknown>): Promise<Units> => {
    units = { read: 0, write: 0 };
    await call();
    return { ...units };
  };
  return { store, measure };
}

/** An event whose payload has about 200 bytes. */
function eventOf(run: string, at: number) {
  return runEvent(run, `key-${at}`, { at, text: 'x'.repeat(180) });
}

function eventsOf(run: string, count: number, from = 0) {
  return Array.from({ length: count }, (_, at) => eventOf(run, from + at));
}

/** Measures every operation of the table, in its order. */
async function measureAll(store: Store, measure: (call: () => Promise<unknown>) => Promise<Units>) {
  const rows = new Map<string, Units>();
  const row = async (title: string, call: () => Promise<unknown>) => rows.set(title, await measure(call));
  await row('the first append of a run', () => store.runs.appendEvent(eventOf('a', 0)));
  await row('an append to a run of up to 40 events', () => store.runs.appendEvent(eventOf('a', 1)));
  await store.runs.appendEvents(eventsOf('a', 38, 2));
  await row('an append to a longer run', () => store.runs.appendEvent(eventOf('a', 40)));
  await row('ten events at once', () => store.runs.appendEvents(eventsOf('a', 10, 41)));
  await row('ten events at once, a new run', () => store.runs.appendEvents(eventsOf('b', 10)));
  await row('the last sequence of a run', () => store.runs.headSeq('a', TENANT));
  await row('moving 5 commits into the feed, once', () => store.runs.feedPage({ limit: 1 }));
  const { next } = await store.runs.feedPage({ limit: 1_000 });
  await row('a page of the feed with nothing new', () => store.runs.feedPage({ cursor: next! }));
  await row('`kv.put` of a new record', () => store.kv.put('k', { a: 1 }));
  await row('`kv.setField` of a record', () => store.kv.setField('k', 'a', 2));
  await row('`kv.compareAndSwap`', () => store.kv.compareAndSwap('k', 'a', 2, 3));
  await row('`kv.get`', () => store.kv.get('k'));
  await row('`kv.batch` of two records', () =>
    store.kv.batch([
      { op: 'put', key: 'k', fields: { a: 1 } },
      { op: 'put', key: 'l', fields: { a: 1 } },
    ]),
  );
  await row('`kv.delete`', () => store.kv.delete('k'));
  return rows;
}

function shown(rows: ReadonlyMap<string, Units>): string {
  return [...rows].map(([title, { read, write }]) => `| ${title} | ${read} | ${write} |`).join('\n');
}

describe.skipIf(WITHOUT_DYNAMODB)('Units', () => {
  it('are those in docs/dynamodb.md, and within what was promised for appends', async () => {
    const { store, measure } = await openMeasured();
    const rows = await measureAll(store, measure);
    expect(rows.get('the first append of a run')!.write).toBeLessThanOrEqual(14);
    expect(rows.get('an append to a run of up to 40 events')!.write).toBeLessThanOrEqual(6);
    expect(rows.get('an append to a longer run')!.write).toBeLessThanOrEqual(8);
    expect(rows.get('ten events at once')!.write).toBeLessThanOrEqual(35);
    expect(rows.get('the last sequence of a run')!.read).toBeLessThanOrEqual(1);
    const page = readFileSync(join(ROOT, 'docs', 'dynamodb.md'), 'utf8');
    expect(page).toContain(shown(rows));
  });

  it('of an append do not grow with the number of runs', async () => {
    const { store, measure } = await openMeasured();
    const begun = await measure(() => store.runs.appendEvent(eventOf('few', 0)));
    const continued = await measure(() => store.runs.appendEvent(eventOf('few', 1)));
    for (let from = 0; from < 1_000; from += 50)
      await Promise.all(
        eventsOf('', 50, from).map((event) => store.runs.appendEvent({ ...event, runId: event.idempotencyKey! })),
      );
    expect(await measure(() => store.runs.appendEvent(eventOf('many', 0)))).toEqual(begun);
    expect(await measure(() => store.runs.appendEvent(eventOf('few', 2)))).toEqual(continued);
  });

  it('of a page of 1 000 events are at most 1.2 times the units of its bytes', async () => {
    const { store, measure } = await openMeasured();
    for (let from = 0; from < 1_500; from += 50) await store.runs.appendEvents(eventsOf('long', 50, from));
    let bytes = 0;
    const { read } = await measure(async () => {
      const events = await store.runs.fetchEvents('long', { ...TENANT, limit: 1_000 });
      expect(events).toHaveLength(1_000);
      bytes = events.reduce((sum, event) => sum + Buffer.byteLength(JSON.stringify(event)), 0);
    });
    // A consistent read of 4 KB is one unit.
    expect(read).toBeLessThanOrEqual((1.2 * bytes) / 4_096);
  });
});

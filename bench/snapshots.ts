/**
 * Snapshots: the cost of `getSnapshot` on a run of ten events and on one of a million, in memory and in a SQLite file.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { makeEvents } from './events.ts';
import { atMost, compareRates, type Figure } from './measure.ts';

const LONG = 1_000_000;
const QUICK = 100_000;
const SHORT = 10;
const BATCH = 1_000;
const READS = 5_000;
const ROUNDS = 5;

async function fill(store: Store, runId: string, count: number): Promise<void> {
  for (let done = 0; done < count; done += BATCH)
    await store.runs.appendEvents(makeEvents(Math.min(BATCH, count - done), () => runId));
  await store.runs.refreshSnapshot(runId, { tenantId: 'bench', timeoutMs: 600_000 });
}

async function snapshotCost(engine: string, store: Store, count: number): Promise<Figure> {
  await fill(store, 'short', SHORT);
  await fill(store, 'long', count);
  const reading = (runId: string) => () => async () => {
    for (let n = 0; n < READS; n++) await store.runs.getSnapshot(runId, { tenantId: 'bench' });
    return READS;
  };
  const rates = await compareRates(reading('long'), reading('short'), ROUNDS);
  const cost = (rate: number) => 1_000_000 / rate;
  const scenario = `getSnapshot of a run of ${count.toLocaleString('en')} events against one of ${SHORT}, ${engine}`;
  return atMost(1.25, scenario, 'µs/call', { ours: cost(rates.ours), raw: cost(rates.raw) });
}

export async function benchSnapshots(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const count = quick ? QUICK : LONG;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const figures: Figure[] = [];
  try {
    for (const [engine, open] of [
      ['memory', memoryStore],
      ['sqlite', () => sqliteStore(join(folder, 'store.db'))],
    ] as const) {
      report(`appending ${count} events to one run in ${engine}`);
      await using store = await open();
      figures.push(await snapshotCost(engine, store, count));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return figures;
}

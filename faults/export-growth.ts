/** Measures the peak memory of an export. `export-memory.ts` and a test run it with growing stores. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { directoryTarget, type ExportFormat, exportTables } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { liveBytes } from './live-memory.ts';
import { runEvent } from './run-event.ts';

const RUN_EVENTS = 1_000;
const BATCH = 500;
const LIMIT = { timeoutMs: 600_000 };
/** Collecting garbage takes some milliseconds, so it is done a limited number of times per export. */
const LOOKS = 20;
export const MB = 1024 * 1024;

export interface ExportGrowth {
  events: number;
  /** The largest growth during the export, without garbage. */
  bytes: number;
  /** The characters of all payloads. */
  payloads: number;
}

/** Fills a new store with that many events and exports it. */
export async function measureExport(events: number, format: ExportFormat, rowsPerFile: number): Promise<ExportGrowth> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-export-memory-'));
  const store = await sqliteStore({ path: join(folder, 'store.db'), ...LIMIT });
  try {
    const payloads = await fill(store, events);
    const before = liveBytes();
    let [most, next] = [0, 0];
    const report = await exportTables({
      ...{ store, format, rowsPerFile, target: directoryTarget(join(folder, 'export')) },
      onProgress: ({ events: exported }) => {
        if (exported < next) return;
        next = exported + events / LOOKS;
        most = Math.max(most, liveBytes() - before);
      },
    });
    if (report.events !== events) throw new Error(`${report.events} of ${events} events were exported`);
    return { events, bytes: most, payloads };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

async function fill(store: Store, events: number): Promise<number> {
  const text = 'a short answer of the tool, as agents get it; '.repeat(8);
  for (let at = 0; at < events; at += BATCH) {
    const run = `run-${Math.floor(at / RUN_EVENTS)}`;
    const batch = Array.from({ length: Math.min(BATCH, events - at) }, (_, n) => runEvent(run, `${at + n}`, { text }));
    await store.runs.appendEvents(batch, LIMIT);
  }
  return events * text.length;
}

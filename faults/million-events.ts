/**
 * One process appends a million events to 10 000 runs, a tenth of them to one run, while it tails that run, follows the
 * feed of all runs and projects every snapshot. Its memory may grow by less than 150 MB, and every reader must see every event once and
 * in order. `--events 1000000`, `--url` any engine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RunEventRecord } from '@tidemark/core';
import { createProjector } from '@tidemark/runtime';
import { open } from 'tidemark';
import { MB } from './export-growth.ts';
import { liveBytes } from './live-memory.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '1000000' }, url: { type: 'string' } } });
const EVENTS = Number(values.events);
const [RUNS, CALLERS, LOOKS] = [10_000, 64, 20];
const MAX_GROWTH = 150 * MB;
const SETTLE_MS = 60_000;
const TAILED = 'tailed';
const TAILED_SHARE = 10;
const runOf = (index: number) => (index % TAILED_SHARE === 0 ? TAILED : `run-${index % RUNS}`);
const EVENTS_OF_TAILED = Math.ceil(EVENTS / TAILED_SHARE);

const folder = mkdtempSync(join(tmpdir(), 'tidemark-million-'));
const store = await open(values.url ?? `sqlite:${join(folder, 'store.db')}`, { timeoutMs: 60_000 });
const stop = new AbortController();
const problems: string[] = [];

let tailed = 0;
async function tail(): Promise<void> {
  for await (const { runSeq } of store.runs.tail(TAILED, { signal: stop.signal })) {
    if (runSeq !== ++tailed) problems.push(`the tail returned sequence ${runSeq} instead of ${tailed}`);
  }
}

let fed = 0;
async function follow(): Promise<void> {
  const last = new Map<string, number>();
  const note = ({ runId, runSeq }: RunEventRecord) => {
    if (runSeq !== (last.get(runId) ?? 0) + 1) problems.push(`the feed returned ${runId} ${runSeq} out of order`);
    last.set(runId, runSeq);
    fed++;
  };
  for await (const { event } of store.runs.feed({ signal: stop.signal })) note(event);
}

const ended = (reader: Promise<void>) => reader.catch((error) => void problems.push(String(error)));
const readers = [tail(), follow()].map(ended);
const projector = await createProjector({ store, onError: (error) => problems.push(String(error)) });

let appended = 0;
const looks: { live: number; heap: number; rss: number }[] = [];
const look = () => {
  const { heapUsed, rss } = process.memoryUsage();
  looks.push({ live: liveBytes(), heap: heapUsed, rss });
  const { live } = looks.at(-1)!;
  console.log(
    `${appended} events: ${(live / MB).toFixed(1)} MB held, ${(heapUsed / MB).toFixed(0)} MB with garbage, ${(rss / MB).toFixed(0)} MB resident; ${tailed} tailed, ${fed} fed, ${projector.status().folded} folded`,
  );
};
async function append(): Promise<void> {
  while (appended < EVENTS) {
    const index = appended++;
    if (index % Math.ceil(EVENTS / LOOKS) === 0) look();
    await store.runs.handle(runOf(index)).append('Progress', { index, note: 'as long as the payload of most events' });
  }
}

/** Whether every reader has seen every event. */
async function isDone(): Promise<boolean> {
  for (const until = Date.now() + SETTLE_MS; Date.now() < until; await sleep(200))
    if (tailed === EVENTS_OF_TAILED && fed === EVENTS && projector.status().folded >= EVENTS) return true;
  return false;
}

try {
  await Promise.all(Array.from({ length: CALLERS }, append));
  if (!(await isDone())) problems.push('a reader has not seen every event');
  look();
  const growth = looks.at(-1)!.live - looks[0]!.live;
  const most = Math.max(...looks.map(({ live }) => live)) - looks[0]!.live;
  if (most >= MAX_GROWTH) problems.push('the process holds too much');
  const mb = (bytes: number) => `${(bytes / MB).toFixed(1)} MB`;
  console.log(
    `million-events: ${EVENTS} events; grew by ${mb(growth)}, by ${mb(most)} at most; ${problems.length} problems`,
  );
  for (const problem of problems.slice(0, 10)) console.log(problem);
} finally {
  stop.abort();
  await Promise.all(readers);
  await projector.stop();
  await store.close();
  rmSync(folder, { recursive: true });
}
process.exitCode = problems.length === 0 ? 0 : 1;

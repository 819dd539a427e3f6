/**
 * Copying and retention at scale: a copy from SQLite to PostgreSQL in constant memory, and appends while retention
 * deletes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunEventInput, Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { copyStore, createRetention } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { startOwnServer } from '../scripts/servers/index.ts';
import { makeEvents } from './events.ts';
import { atLeast, atMost, type Figure } from './measure.ts';

const EVENTS = 1_000_000;
const QUICK = 100_000;
const EVENTS_PER_RUN = 100;
const RUNS_PER_BATCH = 10;
const WRITERS = 16;
const TURN_MS = 3_000;
const ALONE_MS = 1_500;
const MEMORY_EVERY_MS = 50;

type Report = (line: string) => void;

/** Appends ended runs of a hundred events. */
async function fill(store: Store, count: number): Promise<void> {
  for (let first = 0; first < count / EVENTS_PER_RUN; first += RUNS_PER_BATCH) {
    const events = makeEvents(RUNS_PER_BATCH * EVENTS_PER_RUN, (n) => `run-${first + Math.floor(n / EVENTS_PER_RUN)}`);
    for (let n = 0; n < events.length; n += EVENTS_PER_RUN) {
      for (const [at, eventType] of [
        [n, 'RunStarted'],
        [n + EVENTS_PER_RUN - 1, 'RunCompleted'],
      ] as const) {
        const { stepId: _, ...event } = events[at]!;
        events[at] = { ...event, eventType } as RunEventInput;
      }
    }
    await store.runs.appendEvents(events, { timeoutMs: 60_000 });
  }
}

/** Returns the peak resident size of this process in MB, in the first tenth of some work and after it. */
async function peaksOf(
  work: (progress: (share: number) => void) => Promise<void>,
): Promise<Record<'early' | 'late', number>> {
  const peaks = { early: 0, late: 0 };
  let when: keyof typeof peaks = 'early';
  const look = () => {
    peaks[when] = Math.max(peaks[when], process.memoryUsage.rss() / 1e6);
  };
  const timer = setInterval(look, MEMORY_EVERY_MS);
  try {
    await work((share) => {
      if (share > 0.1) when = 'late';
    });
  } finally {
    clearInterval(timer);
  }
  return peaks;
}

async function copyFigure(from: Store, to: Store, count: number, report: Report): Promise<Figure> {
  const runs = count / EVENTS_PER_RUN;
  const began = performance.now();
  const peaks = await peaksOf(async (progress) => {
    const { complete, parts, differences, problems } = await copyStore(from, to, {
      onProgress: (state) => progress(state.parts.runs!.copied / runs),
    });
    if (!complete || parts.runs!.copied !== runs)
      throw new Error(`The copy is not complete: ${JSON.stringify([parts, differences[0], problems[0]])}`);
  });
  const seconds = (performance.now() - began) / 1_000;
  report(`copied and verified ${count} events in ${seconds.toFixed(0)} s, ${Math.round(count / seconds)} events/s`);
  report(`peak RSS ${peaks.early.toFixed(0)} MB in the first tenth, ${peaks.late.toFixed(0)} MB after it`);
  const scenario = `copy of ${count.toLocaleString('en')} events, SQLite to PostgreSQL: peak memory against that of the first tenth`;
  return atMost(1.5, scenario, 'MB', { ours: peaks.late, raw: peaks.early });
}

/** Appends with several writers until it is stopped. */
class Appending {
  readonly #store: Store;
  readonly #writers: Promise<void>[];
  #stopped = false;
  count = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#writers = Array.from({ length: WRITERS }, (_, n) => this.#write(`writer-${n}-${crypto.randomUUID()}`));
  }

  async #write(runId: string): Promise<void> {
    const run = this.#store.runs.handle(runId, { tenantId: 'bench' });
    while (!this.#stopped) {
      await run.append('Progress', { text: 'x'.repeat(100) });
      this.count++;
    }
  }

  /** Returns the number of events appended while some work ran, and how long it took. */
  async during(work: Promise<unknown>): Promise<Turn> {
    const [count, began] = [this.count, performance.now()];
    await work;
    return { events: this.count - count, ms: performance.now() - began };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#writers);
  }
}

interface Turn {
  events: number;
  ms: number;
}

/**
 * Alternates turns with and without retention until everything is deleted, so that a noisy machine affects both
 * equally.
 */
async function retentionFigure(engine: string, store: Store, count: number, report: Report): Promise<Figure> {
  const policies = { runs: [{ name: 'ended', keepNewest: 0, action: 'delete' }] } as const;
  const retention = createRetention({ store, policies });
  const appending = new Appending(store);
  const turns = { ours: [] as Turn[], raw: [] as Turn[] };
  await appending.during(sleep(TURN_MS));
  let deleted = 0;
  for (let finished = false; !finished; ) {
    turns.raw.push(await appending.during(sleep(ALONE_MS)));
    const pass = retention.run({ signal: AbortSignal.timeout(TURN_MS) });
    turns.ours.push(await appending.during(pass));
    const report = await pass;
    deleted += report.policies.ended!.deleted;
    finished = report.finished;
  }
  await appending.stop();
  if (deleted !== count / EVENTS_PER_RUN) throw new Error(`Retention deleted ${deleted} runs`);
  const seconds = turns.ours.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
  const rates = { ours: rateIn(turns.ours), raw: rateIn(turns.raw) };
  report(
    `${engine}: deleted ${count} events in ${seconds.toFixed(0)} s; appends ${Math.round(rates.ours)}/s, alone ${Math.round(rates.raw)}/s`,
  );
  const scenario = `appends of ${WRITERS} writers while retention deletes ${count.toLocaleString('en')} events, ${engine}`;
  return atLeast(0.7, scenario, 'events/s', rates);
}

function rateIn(turns: readonly Turn[]): number {
  const [events, ms] = [turns.reduce((sum, it) => sum + it.events, 0), turns.reduce((sum, it) => sum + it.ms, 0)];
  return (events / ms) * 1_000;
}

export async function benchCopying(report: Report, quick: boolean): Promise<Figure[]> {
  const count = quick ? QUICK : EVENTS;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const server = await startOwnServer('postgres');
  const figures: Figure[] = [];
  try {
    await using from = await sqliteStore(join(folder, 'store.db'));
    await using to = await postgresStore({ url: server.url });
    report(`appending ${count} events to ${count / EVENTS_PER_RUN} runs in SQLite`);
    await fill(from, count);
    figures.push(
      await copyFigure(from, to, count, report),
      await retentionFigure('SQLite', from, count, report),
      await retentionFigure('PostgreSQL', to, count, report),
    );
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true });
  }
  return figures;
}

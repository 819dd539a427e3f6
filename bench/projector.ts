/**
 * The projector's lag on every engine: the time between storing an event and folding it into its snapshot, at a steady
 * rate.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { createProjector } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { startOwnServer } from '../scripts/servers/index.ts';
import { makeEvents } from './events.ts';
import { atMost, type Figure } from './measure.ts';

const RATES = [200, 1_000];
const RUNS = 50;
const SECONDS = 15;
const QUICK_SECONDS = 5;
const TICK_MS = 10;
const WANTED_MS = 1_000;
const DRAIN_MS = 20_000;

/** The data of an engine. The projector and the writer have a connection each, like separate processes. */
interface Database {
  stores: Store[];
  stop(): Promise<unknown>;
}

const DATABASES: Record<string, () => Promise<Database>> = {
  memory: async () => ({ stores: [memoryStore()], stop: async () => {} }),
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
    const open = () => sqliteStore(join(folder, 'store.db'));
    return { stores: [await open(), await open()], stop: async () => rmSync(folder, { recursive: true }) };
  },
  postgres: () => onServer('postgres', (url) => postgresStore({ url, schema: 'bench' })),
  redis: () => onServer('redis', (url) => redisStore({ url, prefix: 'bench' })),
  nats: () => onServer('nats', (url) => natsStore({ url, prefix: 'bench' })),
};

async function onServer(name: 'postgres' | 'redis' | 'nats', open: (url: string) => Promise<Store>): Promise<Database> {
  const server = await startOwnServer(name);
  return { stores: [await open(server.url), await open(server.url)], stop: () => server.stop() };
}

/** The events of each run that are stored and not folded yet, with the time they were stored, by sequence. */
class Waiting {
  readonly lags: number[] = [];
  readonly #stored = new Map<string, Map<number, number>>();
  readonly #foldedUpTo = new Map<string, { seq: number; at: number }>();

  stored(runId: string, runSeq: number, at: number): void {
    const folded = this.#foldedUpTo.get(runId);
    // The fold may be reported before the append returns.
    if (folded && folded.seq >= runSeq) this.lags.push(Math.max(0, folded.at - at));
    else this.#stored.set(runId, (this.#stored.get(runId) ?? new Map()).set(runSeq, at));
  }

  folded(runId: string, seq: number): void {
    const now = Date.now();
    this.#foldedUpTo.set(runId, { seq, at: now });
    const waiting = this.#stored.get(runId);
    for (const [runSeq, at] of waiting ?? []) {
      if (runSeq > seq) continue;
      this.lags.push(Math.max(0, now - at));
      waiting!.delete(runSeq);
    }
  }

  get count(): number {
    return [...this.#stored.values()].reduce((sum, events) => sum + events.size, 0);
  }
}

/** Returns the store with every finished refresh recorded. */
function recordingRefreshes(store: Store, waiting: Waiting): Store {
  const refreshSnapshot: Store['runs']['refreshSnapshot'] = async (runId, options) => {
    const refreshed = await store.runs.refreshSnapshot(runId, options);
    waiting.folded(runId, refreshed.snapshot.lastEventSeq);
    return refreshed;
  };
  const runs = new Proxy(store.runs, {
    get: (target, name) => (name === 'refreshSnapshot' ? refreshSnapshot : bound(target, name)),
  });
  return new Proxy(store, { get: (target, name) => (name === 'runs' ? runs : bound(target, name)) });
}

function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name, target);
  return typeof member === 'function' ? member.bind(target) : member;
}

/** Appends at a steady rate, however long each append takes. Resolves when all are stored. */
async function appendSteadily(store: Store, waiting: Waiting, rate: number, seconds: number): Promise<void> {
  const events = makeEvents(rate * seconds, (index) => `run-${rate}-${index % RUNS}`);
  const began = Date.now();
  const appends: Promise<void>[] = [];
  while (appends.length < events.length) {
    const due = Math.min(events.length, Math.floor(((Date.now() - began) / 1_000) * rate) + 1);
    while (appends.length < due) {
      const event = events[appends.length]!;
      const append = store.runs.appendEvent(event, { timeoutMs: 60_000 });
      appends.push(append.then((it) => waiting.stored(event.runId, it.runSeq, Date.parse(it.persistedAt))));
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  await Promise.all(appends);
}

async function lagsOf(stores: readonly Store[], rate: number, seconds: number): Promise<number[]> {
  const waiting = new Waiting();
  const projector = await createProjector({ store: recordingRefreshes(stores[0]!, waiting) });
  try {
    await appendSteadily(stores.at(-1)!, waiting, rate, seconds);
    for (const end = Date.now() + DRAIN_MS; waiting.count > 0 && Date.now() < end; )
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    if (waiting.count > 0) throw new Error(`${waiting.count} events were not folded`);
    return waiting.lags.sort((a, b) => a - b);
  } finally {
    await projector.stop();
  }
}

export async function benchProjector(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const figures: Figure[] = [];
  const seconds = quick ? QUICK_SECONDS : SECONDS;
  for (const [engine, makeDatabase] of Object.entries(DATABASES)) {
    const { stores, stop } = await makeDatabase();
    try {
      for (const rate of RATES) {
        const lags = await lagsOf(stores, rate, seconds);
        const at = (share: number) => lags[Math.min(lags.length - 1, Math.floor(lags.length * share))]!;
        const [p50, p99, max] = [at(0.5), at(0.99), lags.at(-1)!];
        report(`${engine} at ${rate} events/s: lag p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`);
        // There is no bare driver to compare with, so the limit is the documented lag.
        figures.push(
          atMost(1, `lag p99 at ${rate} events/s, ${engine}, against 1 s`, 'ms', { ours: p99, raw: WANTED_MS }),
        );
      }
    } finally {
      for (const store of stores) await store.close();
      await stop();
    }
  }
  return figures;
}

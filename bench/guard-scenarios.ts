/** The scenarios of `npm run bench -- guard`: ours, and the same amount of work without Tidemark. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createBareServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { httpStore } from '@tidemark/client';
import { memoryStore, type Store } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { Client } from 'pg';
import { open } from 'tidemark';
import { startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';

const CALLERS = 64;
const KEYS = 500;

/** Prepares a round, and returns the work to measure, which resolves with its number of operations. */
type Round = () => Promise<() => Promise<number>>;

export interface Guarded {
  ours: Round;
  bare: Round;
}

interface Engine {
  scenarios: Record<string, Guarded>;
  close(): Promise<void>;
}

async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return times;
}

const rounds =
  (times: number, work: (index: number) => Promise<unknown>): Round =>
  async () =>
  () =>
    repeat(times, work);

const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

function appends(store: Store, count: number, runOf: (index: number) => string): Round {
  return async () => {
    const events = makeEvents(count, runOf);
    return () => appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
  };
}

const spread = (index: number) => `run-${index % KEYS}`;
const hot = () => 'hot';

let jobs = 0;

/** Claims and completes jobs that were enqueued before. */
function jobRounds(store: Store, count: number): Round {
  return async () => {
    await repeat(count, () => store.jobs.enqueue({ taskType: 'guard', taskId: `job-${jobs++}` }));
    return () =>
      repeat(count, async () => {
        const claim = await store.jobs.claim({ taskType: 'guard' }, { worker: 'guard' });
        if (!claim) throw new Error('There are fewer jobs than were enqueued');
        await store.jobs.complete(claim);
      });
  };
}

/** Encodes and decodes the events that an append stores, in this process. */
function encoding(count: number): Round {
  return async () => {
    const events = makeEvents(count, spread);
    return async () => {
      let bytes = 0;
      for (const event of events) bytes += Object.keys(JSON.parse(JSON.stringify(event)) as object).length;
      return bytes > 0 ? count : 0;
    };
  };
}

async function onMemory(): Promise<Engine> {
  const stores: Store[] = [];
  // A new store for each round: the cost of collecting garbage depends on the size of the heap.
  const fresh = (round: (store: Store) => Round): Round => {
    return async () => {
      await stores.pop()?.close();
      stores.push(memoryStore());
      return round(stores[0]!)();
    };
  };
  return {
    scenarios: {
      append: { ours: fresh((store) => appends(store, 10_000, spread)), bare: encoding(40_000) },
      setField: {
        ours: fresh((store) => rounds(20_000, (index) => store.kv.setField(keyOf(index), 'worker', `w-${index}`))),
        bare: encoding(40_000),
      },
    },
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
}

async function onSqlite(): Promise<Engine> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-guard-'));
  const store = await open(`sqlite:${join(folder, 'store.db')}`);
  const bare = new DatabaseSync(join(folder, 'bare.db'));
  bare.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE events (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq))',
  );
  const insert = bare.prepare('INSERT INTO events SELECT ?, coalesce(max(seq), 0) + 1, ? FROM events WHERE run = ?');
  const inserts: Round = async () => {
    const events = makeEvents(6_000, spread);
    return async () => {
      // As many events per transaction as there are callers.
      for (let from = 0; from < events.length; from += CALLERS) {
        bare.exec('BEGIN IMMEDIATE');
        for (const event of events.slice(from, from + CALLERS))
          insert.run(event.runId, JSON.stringify(event), event.runId);
        bare.exec('COMMIT');
      }
      return events.length;
    };
  };
  return {
    scenarios: {
      append: { ours: appends(store, 6_000, spread), bare: inserts },
      'append, one run': { ours: appends(store, 6_000, hot), bare: inserts },
      'claim and complete': { ours: jobRounds(store, 1_000), bare: inserts },
    },
    close: async () => {
      await store.close();
      bare.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function onPostgres(): Promise<Engine> {
  const server = await startOwnServer('postgres');
  const store = await open(server.url, { timeoutMs: 30_000 });
  const bare = new Client({ connectionString: server.url });
  await bare.connect();
  await bare.query('CREATE TABLE bare_events (run text, body json)');
  const inserts: Round = async () => {
    const events = makeEvents(6_000, spread);
    return async () => {
      for (let from = 0; from < events.length; from += CALLERS) {
        const part = events.slice(from, from + CALLERS);
        const values = [part.map(({ runId }) => runId), part.map((event) => JSON.stringify(event))];
        await bare.query({
          name: 'insert',
          text: 'INSERT INTO bare_events SELECT * FROM unnest($1::text[], $2::json[])',
          values,
        });
      }
      return events.length;
    };
  };
  return {
    scenarios: {
      append: { ours: appends(store, 4_000, spread), bare: inserts },
      'append, one run': { ours: appends(store, 4_000, hot), bare: inserts },
      setField: {
        ours: rounds(4_000, (index) => store.kv.setField(keyOf(index), 'worker', `w-${index}`)),
        bare: inserts,
      },
      'claim and complete': { ours: jobRounds(store, 600), bare: inserts },
    },
    close: async () => {
      await store.close();
      await bare.end();
      await server.stop();
    },
  };
}

async function onRedis(): Promise<Engine> {
  const server = await startOwnServer('redis');
  const store = await open(server.url, { timeoutMs: 30_000 });
  const bare = await createClient({ url: server.url }).connect();
  const sets = rounds(10_000, (index) => bare.hSet(keyOf(index), 'worker', `w-${index}`));
  return {
    scenarios: {
      append: { ours: appends(store, 4_000, spread), bare: sets },
      setField: {
        ours: rounds(10_000, (index) => store.kv.setField(keyOf(index), 'worker', `w-${index}`)),
        bare: sets,
      },
      getField: {
        ours: rounds(10_000, (index) => store.kv.getField(keyOf(index), 'worker')),
        bare: rounds(10_000, (index) => bare.hGet(keyOf(index), 'worker')),
      },
      'claim and complete': { ours: jobRounds(store, 1_000), bare: sets },
    },
    close: async () => {
      await store.close();
      bare.destroy();
      await server.stop();
    },
  };
}

/** A client and server in this process, so that CPU contains both sides. */
async function overHttp(): Promise<Engine> {
  const store = memoryStore();
  const server = createServer({ store });
  const client = await httpStore({ url: await server.listen(), timeoutMs: 30_000 });
  const bare = createBareServer((request, response) => {
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', () => resolve()));
  const url = `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`;
  const posts = rounds(2_000, async () => (await fetch(url, { method: 'POST', body: '{}' })).text());
  return {
    scenarios: {
      append: { ours: appends(client, 4_000, spread), bare: posts },
      get: { ours: rounds(1_500, (index) => client.kv.get(keyOf(index))), bare: posts },
    },
    close: async () => {
      await client.close();
      await server.close();
      await store.close();
      await new Promise((resolve) => bare.close(resolve));
    },
  };
}

/** The engines, in the order in which they are measured. */
export const SCENARIOS: Record<string, () => Promise<Engine>> = {
  memory: onMemory,
  sqlite: onSqlite,
  postgres: onPostgres,
  redis: onRedis,
  http: overHttp,
};

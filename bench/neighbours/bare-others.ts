/** The bare drivers of Redis and SQLite as the ceiling: one command or statement per call, flushed as ours are. */
import { DatabaseSync } from 'node:sqlite';
import { createClient } from '@redis/client';
import { makeEvents } from '../events.ts';
import type { EventsContender, KvContender, MemoryContender, PausesContender } from './kinds.ts';

const REDIS = 'bare redis';
const SQLITE = 'bare node:sqlite';

const SWAP = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0`;

async function connect(url: string) {
  const client = await createClient({ url }).connect();
  return { client, close: async () => client.destroy() };
}

export const BARE_REDIS = {
  async kv(url: string): Promise<KvContender> {
    const { client, close } = await connect(url);
    const script = await client.scriptLoad(SWAP);
    return {
      name: REDIS,
      close,
      set: (key, value) => client.set(key, value),
      get: (key) => client.get(key),
      swap: async (key, expected, next) =>
        (await client.evalSha(script, { keys: [key], arguments: [expected, next] })) === 1,
    };
  },

  async pauses(url: string): Promise<PausesContender> {
    const { client, close } = await connect(url);
    return {
      name: REDIS,
      close,
      async roundTrip(token, payload) {
        await client.set(token, JSON.stringify(payload));
        return JSON.parse((await client.getDel(token))!);
      },
    };
  },

  async memory(url: string): Promise<MemoryContender> {
    const { client, close } = await connect(url);
    return {
      name: REDIS,
      close,
      save: (key, state) => client.set(key, JSON.stringify(state)),
      load: async (key) => JSON.parse((await client.get(key))!),
    };
  },
};

function openFile(url: string): DatabaseSync {
  const database = new DatabaseSync(url.slice('sqlite:'.length));
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS events
      (run TEXT, seq INTEGER, key TEXT, body TEXT, PRIMARY KEY (run, seq), UNIQUE (run, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS "values" (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
  `);
  return database;
}

function valuesOf(database: DatabaseSync) {
  const upsert = database.prepare(
    'INSERT INTO "values" VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  const select = database.prepare('SELECT value FROM "values" WHERE key = ?');
  return {
    set: (key: string, value: string) => upsert.run(key, value),
    get: (key: string) => (select.get(key) as { value: string } | undefined)?.value,
  };
}

export const BARE_SQLITE = {
  async events(url: string): Promise<EventsContender> {
    const database = openFile(url);
    const insert = database.prepare(
      'INSERT OR IGNORE INTO events SELECT $run, coalesce(max(seq), 0) + 1, $key, $body FROM events WHERE run = $run',
    );
    const select = database.prepare('SELECT seq, key, body FROM events WHERE run = ? ORDER BY seq');
    const values = valuesOf(database);
    const append = async (runId: string, key: string) =>
      insert.run({ run: runId, key, body: JSON.stringify(makeEvents(1, () => runId)[0]!) });
    return {
      name: SQLITE,
      append: (runId) => append(runId, crypto.randomUUID()),
      appendOnce: append,
      async appendMany(runId, count) {
        database.exec('BEGIN IMMEDIATE');
        for (let index = 0; index < count; index++) await append(runId, crypto.randomUUID());
        database.exec('COMMIT');
      },
      read: async (runId) => select.all(runId).map((it) => JSON.parse(it.body as string)).length,
      project: async (runId) => values.set(`snapshot.${runId}`, JSON.stringify(makeEvents(1, () => runId)[0]!)),
      snapshot: async (runId) => JSON.parse(values.get(`snapshot.${runId}`)!),
      close: async () => database.close(),
    };
  },

  async kv(url: string): Promise<KvContender> {
    const database = openFile(url);
    const { set, get } = valuesOf(database);
    const swap = database.prepare('UPDATE "values" SET value = ? WHERE key = ? AND value = ?');
    return {
      name: SQLITE,
      set: async (key, value) => set(key, value),
      get: async (key) => get(key),
      swap: async (key, expected, next) => swap.run(next, key, expected).changes === 1,
      close: async () => database.close(),
    };
  },

  async pauses(url: string): Promise<PausesContender> {
    const database = openFile(url);
    const { set } = valuesOf(database);
    const consume = database.prepare('DELETE FROM "values" WHERE key = ? RETURNING value');
    return {
      name: SQLITE,
      async roundTrip(token, payload) {
        set(token, JSON.stringify(payload));
        return JSON.parse((consume.get(token) as { value: string }).value);
      },
      close: async () => database.close(),
    };
  },

  async memory(url: string): Promise<MemoryContender> {
    const database = openFile(url);
    const { set, get } = valuesOf(database);
    return {
      name: SQLITE,
      save: async (key, state) => set(key, JSON.stringify(state)),
      load: async (key) => JSON.parse(get(key)!),
      close: async () => database.close(),
    };
  },
};

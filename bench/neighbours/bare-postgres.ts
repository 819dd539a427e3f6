/**
 * The bare driver of PostgreSQL as the ceiling: one prepared statement per call on ten connections, each its own durable
 * transaction, and nothing of what a library adds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { makeEvents } from '../events.ts';
import type { Contenders } from './kinds.ts';

const NAME = 'bare pg';

const TABLES = `
  CREATE TABLE IF NOT EXISTS bare_events
    (run text, seq bigserial, key text, body json, PRIMARY KEY (run, seq), UNIQUE (run, key));
  CREATE TABLE IF NOT EXISTS bare_values (key text COLLATE "C" PRIMARY KEY, value text);
  CREATE TABLE IF NOT EXISTS bare_jobs
    (id bigserial PRIMARY KEY, type text, state text DEFAULT 'pending', lease_until timestamptz);
  CREATE INDEX IF NOT EXISTS bare_jobs_pending ON bare_jobs (type, id) WHERE state = 'pending';
  CREATE INDEX IF NOT EXISTS bare_jobs_claimed ON bare_jobs (type, lease_until) WHERE state = 'claimed';
`;

const CLAIM = `UPDATE bare_jobs SET state = 'claimed', lease_until = now() + interval '1 s' WHERE id IN
  (SELECT id FROM bare_jobs WHERE type = $1 AND state = 'pending' ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id`;

const UPSERT = 'INSERT INTO bare_values VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value';

interface Bare {
  run(text: string, values: readonly unknown[]): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

async function connect(url: string): Promise<Bare> {
  const pool = new pg.Pool({ connectionString: url });
  await pool.query(TABLES);
  const names = new Map<string, string>();
  return {
    run(text, values) {
      const name = names.get(text) ?? `bare-${names.size}`;
      names.set(text, name);
      return pool.query({ name, text, values: [...values] });
    },
    close: () => pool.end(),
  };
}

const bodyOf = (runId: string) => JSON.stringify(makeEvents(1, () => runId)[0]!);

export const BARE_POSTGRES: {
  [It in Exclude<keyof Contenders, 'checkpoints'>]: (url: string) => Promise<Contenders[It]>;
} = {
  async events(url) {
    const { run, close } = await connect(url);
    const insert = 'INSERT INTO bare_events (run, key, body) VALUES ($1, $2, $3)';
    return {
      name: NAME,
      close,
      append: (runId) => run(insert, [runId, crypto.randomUUID(), bodyOf(runId)]),
      appendOnce: (runId, key) => run(`${insert} ON CONFLICT DO NOTHING`, [runId, key, bodyOf(runId)]),
      appendMany: (runId, count) =>
        run('INSERT INTO bare_events (run, key, body) SELECT $1, * FROM unnest($2::text[], $3::json[])', [
          runId,
          Array.from({ length: count }, () => crypto.randomUUID()),
          Array.from({ length: count }, () => bodyOf(runId)),
        ]),
      read: async (runId) =>
        (await run('SELECT seq, key, body FROM bare_events WHERE run = $1 ORDER BY seq', [runId])).rows.length,
      project: (runId) => run(UPSERT, [`snapshot.${runId}`, bodyOf(runId)]),
      snapshot: async (runId) =>
        JSON.parse((await run('SELECT value FROM bare_values WHERE key = $1', [`snapshot.${runId}`])).rows[0].value),
    };
  },

  async kv(url) {
    const { run, close } = await connect(url);
    return {
      name: NAME,
      close,
      set: (key, value) => run(UPSERT, [key, value]),
      get: (key) => run('SELECT value FROM bare_values WHERE key = $1', [key]),
      swap: async (key, expected, next) =>
        (await run('UPDATE bare_values SET value = $3 WHERE key = $1 AND value = $2', [key, expected, next]))
          .rowCount === 1,
    };
  },

  async jobs(url) {
    const { run, close } = await connect(url);
    const fill = (type: string, count: number) =>
      run('INSERT INTO bare_jobs (type) SELECT $1 FROM generate_series(1, $2)', [type, count]);
    let waiting = 0;
    return {
      name: NAME,
      close,
      enqueue: () => run('INSERT INTO bare_jobs (type) VALUES ($1)', ['bench']),
      async work(workers, count) {
        let left = count;
        const loop = async () => {
          while (left > 0) {
            const { rows } = await run(CLAIM, ['bench', 1]);
            if (rows.length === 0) continue;
            await run(`UPDATE bare_jobs SET state = 'completed' WHERE id = $1`, [rows[0].id]);
            left--;
          }
        };
        await Promise.all(Array.from({ length: workers }, loop));
      },
      async abandon(count, others) {
        await fill('swept', count + others - waiting);
        await run(CLAIM, ['swept', count]);
        waiting = others;
        await sleep(1_100);
      },
      async sweep() {
        const text = `UPDATE bare_jobs SET state = 'pending' WHERE type = $1 AND state = 'claimed' AND lease_until < now()`;
        const { rowCount } = await run(text, ['swept']);
        waiting += rowCount ?? 0;
        return rowCount ?? 0;
      },
    };
  },

  async pauses(url) {
    const { run, close } = await connect(url);
    return {
      name: NAME,
      close,
      async roundTrip(token, payload) {
        await run(UPSERT, [`pause.${token}`, JSON.stringify(payload)]);
        const { rows } = await run('DELETE FROM bare_values WHERE key = $1 RETURNING value', [`pause.${token}`]);
        return JSON.parse(rows[0].value);
      },
    };
  },

  async memory(url) {
    const { run, close } = await connect(url);
    return {
      name: NAME,
      close,
      save: (key, state) => run(UPSERT, [key, JSON.stringify(state)]),
      load: async (key) => JSON.parse((await run('SELECT value FROM bare_values WHERE key = $1', [key])).rows[0].value),
    };
  },
};

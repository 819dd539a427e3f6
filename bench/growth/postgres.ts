/** Growth on PostgreSQL: the bare driver works on copies of our tables, with one row per job in a separate table. */
import { postgresStore } from '@tidemark/postgres';
import pg from 'pg';
import { startOwnServer } from '../../scripts/servers/index.ts';
import { makeEvents } from '../events.ts';
import { STUCK } from '../jobs.ts';
import { RawDriver } from '../postgres.ts';
import {
  APPENDS,
  busyRun,
  CALLERS,
  CLAIMS,
  fill,
  nextRound,
  ourSide,
  READS,
  repeat,
  runOf,
  type Side,
  type Size,
  spread,
  TAIL,
  WORKERS,
  withSnapshot,
} from './sides.ts';
import type { Sides } from './sqlite.ts';

const COPIED = ['run_events', 'runs', 'run_snapshots'];

/** Starts a server, fills a schema with our store and copies its tables for the bare driver. */
export async function postgresSides(size: Size, report: (line: string) => void): Promise<Sides> {
  const server = await startOwnServer('postgres');
  const schema = 'growth';
  const store = await postgresStore({ url: server.url, schema });
  await fill(store, size, report);
  const pool = new pg.Pool({ connectionString: server.url, max: WORKERS });
  // Of idle connections, when the server stops. The errors of queries reach their callers.
  pool.on('error', () => {});
  await pool.query('CREATE SCHEMA bare');
  for (const table of COPIED) {
    await pool.query(`CREATE TABLE bare.${table} (LIKE "${schema}".${table} INCLUDING ALL)`);
    await pool.query(`INSERT INTO bare.${table} OVERRIDING SYSTEM VALUE SELECT * FROM "${schema}".${table}`);
  }
  await fillBareJobs(pool, size.jobs);
  await pool.query('VACUUM ANALYZE');
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  const { pid } = server.started!;
  const ours = ourSide(store, size, pid);
  const bare = { ...bareSide(pool, new RawDriver(client, 'bare', size.eventsPerRun), size), pid };
  const close = async () => {
    await Promise.all([ours.close(), bare.close(), client.end()]);
    await server.stop();
  };
  return { ours, bare, close };
}

/** One prepared statement per call, by as many callers as ours. */
function bareSide(pool: pg.Pool, appends: RawDriver, size: Size): Side {
  const run = (name: string, text: string, values: readonly unknown[]) =>
    pool.query({ name, text, values: [...values] });
  let jobs = 0;
  return {
    async append() {
      const at = nextRound() * APPENDS;
      const rows = appends.rowsOf(makeEvents(APPENDS, (index) => busyRun(at + index, size)));
      return () => appends.insert(rows, CALLERS);
    },
    async tail() {
      const at = nextRound() * READS;
      const after = Math.max(0, size.eventsPerRun - TAIL);
      return () => repeat(READS, WORKERS, (index) => run('tail', TAIL_SQL, [runOf(spread(at + index, size)), after]));
    },
    async snapshot() {
      const at = nextRound() * READS;
      return () => repeat(READS, WORKERS, (index) => run('snapshot', SNAPSHOT_SQL, [withSnapshot(at + index, size)]));
    },
    async claim() {
      const keys = Array.from({ length: CLAIMS }, () => `claimed-${jobs++}`);
      await insertJobs(pool, keys, 'pending');
      return () =>
        repeat(CLAIMS, WORKERS, async () => {
          const { rows } = await run('claim', CLAIM_SQL, [Date.now() + 60_000]);
          await run('complete', COMPLETE_SQL, [rows[0].key]);
        });
    },
    async sweep() {
      await pool.query(`DELETE FROM bare.jobs WHERE key >= 'stuck-' AND key < 'stuck.'`);
      await insertJobs(
        pool,
        Array.from({ length: STUCK }, (_, index) => `stuck-${index}`),
        'claimed',
      );
      return async () => {
        const { rows } = await run('overdue', OVERDUE_SQL, [Date.now()]);
        if (rows.length !== STUCK) throw new Error(`The bare sweep found ${rows.length} jobs`);
        await repeat(STUCK, WORKERS, (index) => run('requeue', REQUEUE_SQL, [rows[index].key]));
        return 1;
      };
    },
    async close() {
      await pool.end();
    },
  };
}

const TAIL_SQL = `
  SELECT *, payload::text AS body FROM bare.run_events
  WHERE run_id = $1 AND tenant_id = 'bench' AND run_seq > $2 ORDER BY run_seq LIMIT ${TAIL}`;

const SNAPSHOT_SQL = `
  SELECT head.last_seq, snapshot.* FROM bare.runs AS head JOIN bare.run_snapshots AS snapshot USING (run_id, tenant_id)
  WHERE run_id = $1 AND tenant_id = 'bench'`;

const CLAIM_SQL = `
  UPDATE bare.jobs SET state = 'claimed', due = $1 WHERE key = (
    SELECT key FROM bare.jobs WHERE type = 'bench' AND state = 'pending' ORDER BY due, key LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING key`;

const COMPLETE_SQL = `UPDATE bare.jobs SET state = 'completed' WHERE key = $1`;

const OVERDUE_SQL = `
  SELECT key FROM bare.jobs WHERE type = 'bench' AND state = 'claimed' AND due < $1 ORDER BY due LIMIT 1000`;

const REQUEUE_SQL = `UPDATE bare.jobs SET state = 'pending' WHERE key = $1 AND state = 'claimed'`;

/** About as long as the fields of a job. */
const BODY = JSON.stringify({ taskId: 'job-0', worker: 'bench', claimId: crypto.randomUUID(), attempts: 1 });

async function insertJobs(pool: pg.Pool, keys: readonly string[], state: string): Promise<void> {
  await pool.query(
    `INSERT INTO bare.jobs SELECT key, 'bench', $2, at, $3 FROM unnest($1::text[]) WITH ORDINALITY AS listed (key, at)`,
    [keys, state, BODY],
  );
}

/** As many jobs as ours, in the same states: most have ended. */
async function fillBareJobs(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(`
    CREATE TABLE bare.jobs (
      key text COLLATE "C" PRIMARY KEY, type text NOT NULL, state text NOT NULL, due bigint NOT NULL, body text NOT NULL
    )`);
  await pool.query(
    `INSERT INTO bare.jobs
     SELECT 'job-' || at, 'bench', coalesce((ARRAY['pending', 'running', 'failed', 'cancelled'])[at % 40 + 1], 'completed'),
            $1::bigint + at, $2
     FROM generate_series(0, $3::int - 1) AS at`,
    [Date.now(), BODY, count],
  );
  await pool.query('CREATE INDEX ON bare.jobs (type, state, due, key)');
}

/** Growth on SQLite: the bare driver works on a copy of our file, with one row per job in a separate table. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { sqliteStore } from '@tidemark/sqlite';
import { makeEvents } from '../events.ts';
import { STUCK } from '../jobs.ts';
import { RawDriver } from '../sqlite.ts';
import {
  APPENDS,
  busyRun,
  CALLERS,
  CLAIMS,
  fill,
  nextRound,
  ourSide,
  READS,
  runOf,
  type Side,
  type Size,
  spread,
  TAIL,
  WORKERS,
  withSnapshot,
} from './sides.ts';

export interface Sides {
  ours: Side;
  bare: Side;
  close(): Promise<void>;
}

/** Fills a file in a folder, `TMPDIR` by default, and opens it with our store and a copy of it with the bare driver. */
export async function sqliteSides(size: Size, report: (line: string) => void): Promise<Sides> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-growth-'));
  const [path, copy] = [join(folder, 'ours.db'), join(folder, 'bare.db')];
  const filling = await sqliteStore(path);
  await fill(filling, size, report);
  await filling.close();
  copyFileSync(path, copy);
  const ours = ourSide(await sqliteStore(path), size);
  const bare = bareSide(copy, size);
  const close = async () => {
    await Promise.all([ours.close(), bare.close()]);
    rmSync(folder, { recursive: true });
  };
  return { ours, bare, close };
}

/** The same work with single statements, in transactions of as many calls as share a commit of ours. */
function bareSide(path: string, size: Size): Side {
  const appends = new RawDriver(path);
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536');
  fillBareJobs(database, size.jobs);
  const tail = database.prepare(
    `SELECT * FROM run_events WHERE run_id = ? AND tenant_id = 'bench' AND run_seq > ? ORDER BY run_seq LIMIT ${TAIL}`,
  );
  const head = database.prepare(`SELECT * FROM runs WHERE run_id = ? AND tenant_id = 'bench'`);
  const snapshot = database.prepare(`SELECT * FROM run_snapshots WHERE run_id = ? AND tenant_id = 'bench'`);
  const claim = database.prepare(
    `SELECT key FROM bare_jobs WHERE type = 'bench' AND state = 'pending' ORDER BY due, key LIMIT 1`,
  );
  const overdue = database.prepare(
    `SELECT key FROM bare_jobs WHERE type = 'bench' AND state = 'claimed' AND due < ? ORDER BY due LIMIT 1000`,
  );
  const insert = database.prepare(INSERT_JOB);
  const move = database.prepare('UPDATE bare_jobs SET state = ?, due = ?, body = ? WHERE key = ?');
  const inTransaction = (work: () => void) => {
    database.exec('BEGIN IMMEDIATE');
    work();
    database.exec('COMMIT');
  };
  let jobs = 0;
  return {
    async append() {
      const at = nextRound() * APPENDS;
      const rows = appends.rowsOf(makeEvents(APPENDS, (index) => busyRun(at + index, size)));
      return async () => appends.insert(rows, CALLERS);
    },
    async tail() {
      const at = nextRound() * READS;
      return reads((index) => {
        const rows = tail.all(runOf(spread(at + index, size)), Math.max(0, size.eventsPerRun - TAIL));
        for (const { payload } of rows as { payload: string }[]) JSON.parse(payload);
      });
    },
    async snapshot() {
      const at = nextRound() * READS;
      return reads((index) => {
        const runId = withSnapshot(at + index, size);
        head.get(runId);
        JSON.parse((snapshot.get(runId) as { snapshot_data: string }).snapshot_data);
      });
    },
    async claim() {
      inTransaction(() => insertJobs(insert, CLAIMS, 'pending', () => `claimed-${jobs++}`));
      return async () => {
        for (let done = 0; done < CLAIMS; done += WORKERS) {
          const keys: string[] = [];
          inTransaction(() => {
            for (let worker = 0; worker < WORKERS; worker++) {
              const { key } = claim.get() as { key: string };
              move.run('claimed', Date.now() + 60_000, BODY, key);
              keys.push(key);
            }
          });
          inTransaction(() => {
            for (const key of keys) move.run('completed', 0, BODY, key);
          });
        }
        return CLAIMS;
      };
    },
    async sweep() {
      inTransaction(() => {
        database.exec(`DELETE FROM bare_jobs WHERE key >= 'stuck-' AND key < 'stuck.'`);
        insertJobs(insert, STUCK, 'claimed', (index) => `stuck-${index}`);
      });
      return async () => {
        inTransaction(() => {
          const found = overdue.all(Date.now()) as { key: string }[];
          if (found.length !== STUCK) throw new Error(`The bare sweep found ${found.length} jobs`);
          for (const { key } of found) move.run('pending', Date.now(), BODY, key);
        });
        return 1;
      };
    },
    async close() {
      appends.close();
      database.close();
    },
  };
}

function reads(read: (index: number) => void): () => Promise<number> {
  return async () => {
    for (let index = 0; index < READS; index++) read(index);
    return READS;
  };
}

const INSERT_JOB = `INSERT INTO bare_jobs (key, type, state, due, body) VALUES (?, 'bench', ?, ?, ?)`;
/** About as long as the fields of a job. */
const BODY = JSON.stringify({ taskId: 'job-0', worker: 'bench', claimId: crypto.randomUUID(), attempts: 1 });

function insertJobs(insert: StatementSync, count: number, state: string, keyOf: (index: number) => string): void {
  for (let index = 0; index < count; index++) insert.run(keyOf(index), state, index, BODY);
}

/** As many jobs as ours, in the same states: most have ended. */
function fillBareJobs(database: DatabaseSync, count: number): void {
  database.exec(`
    CREATE TABLE bare_jobs (
      key TEXT PRIMARY KEY, type TEXT NOT NULL, state TEXT NOT NULL, due INTEGER NOT NULL, body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX bare_jobs_by_state ON bare_jobs (type, state, due, key);
  `);
  const insert = database.prepare(INSERT_JOB);
  database.exec('BEGIN');
  for (let index = 0; index < count; index++) {
    const state = ['pending', 'running', 'failed', 'cancelled'][index % 40] ?? 'completed';
    insert.run(`job-${index}`, state, Date.now() + index, BODY);
  }
  database.exec('COMMIT');
}

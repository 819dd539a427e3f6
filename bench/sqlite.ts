/** SQLite: our store against the bare driver inserting the same rows and head updates in transactions of the same size. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { appendAll, makeEvents, type WholeEvent } from './events.ts';
import { atLeast, atMost, compareRates, type Figure, median, rateOf } from './measure.ts';

const CALLERS = 64;
const RUNS = 10_000;
const ROUND = 12_800;
const ROUNDS = 5;

const EVENT_VALUES = 19;

/** The bare driver on a file with our schema and our settings. */
export class RawDriver {
  readonly #database: DatabaseSync;
  readonly #insert;
  readonly #upsert;
  readonly #select;
  readonly #sequences = new Map<string, number>();
  readonly #link = crypto.getRandomValues(new Uint8Array(32));

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536');
    this.#insert = this.#database.prepare(`
      INSERT INTO run_events (tenant_id, run_id, run_seq, event_id, event_type, emitted_at, persisted_at, project_id,
        environment_id, plan_id, plan_version, engine_attempt_id, logical_attempt_id, idempotency_key, step_id, extra,
        payload, commit_index, link)
      VALUES (${Array(EVENT_VALUES).fill('?').join(', ')})`);
    this.#upsert = this.#database.prepare(`
      INSERT INTO runs (tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link,
        created_at, updated_at, labels, parent_run_id, removed)
      VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, '{}', NULL, NULL)
      ON CONFLICT (run_id, tenant_id) DO UPDATE SET last_seq = excluded.last_seq, link = excluded.link, updated_at = excluded.updated_at`);
    this.#select = this.#database.prepare(
      'SELECT * FROM run_events WHERE run_id = ? AND tenant_id = ? AND run_seq > ? ORDER BY run_seq LIMIT ?',
    );
    for (const { run_id, last_seq } of this.#database.prepare('SELECT run_id, last_seq FROM runs').all() as {
      run_id: string;
      last_seq: number;
    }[]) {
      this.#sequences.set(run_id, last_seq);
    }
  }

  /** Returns the rows to insert, made before the clock starts. */
  rowsOf(events: readonly WholeEvent[]): (string | number | null | Uint8Array)[][] {
    return events.map((event) => {
      const runSeq = (this.#sequences.get(event.runId) ?? 0) + 1;
      this.#sequences.set(event.runId, runSeq);
      return [
        event.tenantId,
        event.runId,
        runSeq,
        event.eventId,
        event.eventType,
        event.emittedAt,
        Date.now(),
        event.projectId,
        event.environmentId,
        event.planId,
        event.planVersion,
        1,
        1,
        event.eventId,
        event.stepId ?? null,
        null,
        JSON.stringify(event.payload),
        1,
        this.#link,
      ];
    });
  }

  insert(rows: readonly (string | number | null | Uint8Array)[][], size: number): number {
    for (let start = 0; start < rows.length; start += size) {
      const group = rows.slice(start, start + size);
      this.#database.exec('BEGIN IMMEDIATE');
      for (const row of group) this.#insert.run(...row);
      // Like our store, updates each run's head once per transaction.
      const heads = new Map(group.map((row) => [row[1], row]));
      for (const row of heads.values()) {
        this.#upsert.run(row[0]!, row[1]!, row[7]!, row[8]!, row[9]!, row[10]!, row[2]!, this.#link, row[6]!, row[6]!);
      }
      this.#database.exec('COMMIT');
    }
    return rows.length;
  }

  /** Reads pages as a bare reader would: rows with their payload parsed. */
  read(runId: string, total: number, page: number): number {
    let read = 0;
    while (read < total) {
      const rows = this.#select.all(runId, 'bench', read, page) as { payload: string }[];
      for (const row of rows) JSON.parse(row.payload);
      read += rows.length;
    }
    return read;
  }

  close(): void {
    this.#database.close();
  }
}

interface Pair {
  ours: Store;
  raw: RawDriver;
}

async function withFiles<T>(work: (pair: Pair) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const ours = await sqliteStore(join(directory, 'ours.db'));
  // The store creates the tables; afterwards only the bare driver uses the file.
  await (await sqliteStore(join(directory, 'raw.db'))).close();
  const raw = new RawDriver(join(directory, 'raw.db'));
  try {
    return await work({ ours, raw });
  } finally {
    await ours.close();
    raw.close();
    rmSync(directory, { recursive: true });
  }
}

function appendRates({ ours, raw }: Pair, runOf: (index: number) => string, rounds: number) {
  return compareRates(
    () => {
      const events = makeEvents(ROUND, runOf);
      return () => appendAll((event) => ours.runs.appendEvent(event), events, CALLERS);
    },
    () => {
      const rows = raw.rowsOf(makeEvents(ROUND, runOf));
      return async () => raw.insert(rows, CALLERS);
    },
    rounds,
  );
}

async function appends(report: (line: string) => void): Promise<Figure[]> {
  return withFiles(async (pair) => {
    await appendRates(pair, (index) => `run-${index % RUNS}`, 1);
    report('appends over 10 000 runs');
    const spread = await appendRates(pair, (index) => `run-${(index * 7_919) % RUNS}`, ROUNDS);
    report('appends to one hot run');
    const hot = await appendRates(pair, () => 'hot', ROUNDS);
    report('a lone caller');
    const lone = await loneCaller(pair);
    report('verified reads');
    const reads = await verifiedReads(pair);
    return [
      atLeast(0.5, 'append, 64 callers, 10 000 runs', 'events/s', spread),
      atLeast(0.5, 'append, 64 callers, one hot run', 'events/s', hot),
      atMost(1.5, 'append, lone caller', 'ms', lone),
      atLeast(0.45, 'verified pages of 1 000', 'events/s', reads),
    ];
  });
}

async function loneCaller({ ours, raw }: Pair): Promise<{ ours: number; raw: number }> {
  const count = 1_000;
  const rates = await compareRates(
    () => {
      const events = makeEvents(count, () => 'lone');
      return () => appendAll((event) => ours.runs.appendEvent(event), events, 1);
    },
    () => {
      const rows = raw.rowsOf(makeEvents(count, () => 'lone'));
      return async () => raw.insert(rows, 1);
    },
    ROUNDS,
  );
  return { ours: 1_000 / rates.ours, raw: 1_000 / rates.raw };
}

async function verifiedReads({ ours, raw }: Pair): Promise<{ ours: number; raw: number }> {
  const total = ROUND * ROUNDS;
  return compareRates(
    () => async () => {
      let read = 0;
      for await (const _ of ours.runs.readEvents('hot', { tenantId: 'bench', limit: 1_000 })) read++;
      return read;
    },
    () => async () => raw.read('hot', total, 1_000),
    ROUNDS,
  );
}

/**
 * Appends to a small file and to one of a million events, alternately, with our store and the bare driver, and compares
 * how much slower each became.
 */
async function growth(report: (line: string) => void, large: number): Promise<Figure[]> {
  return withFiles((small) =>
    withFiles(async (big) => {
      for (const pair of [small, big]) {
        const target = pair === small ? 1_000 : large;
        for (let done = 0; done < target; done += 50_000) {
          const events = makeEvents(Math.min(50_000, target), (index) => `run-${(done + index) % RUNS}`);
          for (let start = 0; start < events.length; start += 1_000)
            await pair.ours.runs.appendEvents(events.slice(start, start + 1_000));
          pair.raw.insert(pair.raw.rowsOf(events), 1_000);
          report(`growth: ${Math.min(target, done + 50_000)} events stored`);
        }
      }
      const slowdown = { ours: [] as number[], raw: [] as number[] };
      for (let round = 0; round < 7; round++) {
        const rate = async (pair: Pair, who: 'ours' | 'raw') => {
          const events = makeEvents(6_400, (index) => `run-${(index * 7_919 + round) % RUNS}`);
          if (who === 'ours')
            return rateOf(() => () => appendAll((event) => pair.ours.runs.appendEvent(event), events, CALLERS));
          const rows = pair.raw.rowsOf(events);
          return rateOf(() => async () => pair.raw.insert(rows, CALLERS));
        };
        for (const who of ['ours', 'raw'] as const)
          slowdown[who].push((await rate(small, who)) / (await rate(big, who)));
      }
      return [
        atMost(1.2, `growth from 10³ to ${large.toExponential(0)} events`, '× slower', {
          ours: median(slowdown.ours),
          raw: median(slowdown.raw),
        }),
      ];
    }),
  );
}

/** Opens, appends one event and closes in a separate process, on the compiled packages that users get. */
function coldStart(): Figure[] {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  try {
    const script = join(import.meta.dirname, 'cold-start.ts');
    const inside: number[] = [];
    const outside: number[] = [];
    for (let round = 0; round < 11; round++) {
      const began = performance.now();
      const { stdout, stderr, status } = spawnSync(process.execPath, [script, join(directory, `${round}.db`)], {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${stderr}\nnpm run build makes what this measures`);
      outside.push(performance.now() - began);
      inside.push(Number(stdout));
    }
    return [
      atMost(1, 'cold: load, open, append, close, against 150 ms', 'ms', { ours: median(inside), raw: 150 }),
      atMost(1, 'the same with the start of Node itself', 'ms', { ours: median(outside), raw: 150 }),
    ];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export async function benchSqlite(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  report('cold start');
  return [...coldStart(), ...(await appends(report)), ...(await growth(report, quick ? 100_000 : 1_000_000))];
}

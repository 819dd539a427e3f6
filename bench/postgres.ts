/**
 * PostgreSQL: our store compared with multi-row unnest inserts of the same rows, with the same table, indexes, batch
 * size and driver.
 */
import type { RunEventInput, Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import pg from 'pg';
import { startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';
import { atLeast, atMost, compareRates, type Figure, median, rateOf } from './measure.ts';

const CALLERS = 64;
const RUNS = 10_000;
const ROUND = 12_800;
const ROUNDS = 5;

const COLUMNS = [
  ['tenant_id', 'text'],
  ['run_id', 'text'],
  ['run_seq', 'bigint'],
  ['event_id', 'text'],
  ['event_type', 'text'],
  ['emitted_at', 'text'],
  ['persisted_at', 'bigint'],
  ['project_id', 'text'],
  ['environment_id', 'text'],
  ['plan_id', 'text'],
  ['plan_version', 'text'],
  ['engine_attempt_id', 'bigint'],
  ['logical_attempt_id', 'bigint'],
  ['idempotency_key', 'text'],
  ['step_id', 'text'],
  ['extra', 'json'],
  ['payload', 'json'],
  ['commit_index', 'int'],
  ['link', 'bytea'],
  ['epoch', 'int'],
  ['xid', 'xid8'],
] as const;

type Row = unknown[];

/** The bare driver on its own schema with our tables. */
export class RawDriver {
  readonly #client: pg.Client;
  readonly #insert: string;
  readonly #schema: string;
  readonly #sequences = new Map<string, number>();
  readonly #lastSeq: number;
  readonly #link = Buffer.from(crypto.getRandomValues(new Uint8Array(32)));

  /** @param lastSeq the last sequence of every run that the schema already has */
  constructor(client: pg.Client, schema: string, lastSeq = 0) {
    this.#client = client;
    this.#schema = schema;
    this.#lastSeq = lastSeq;
    const arrays = COLUMNS.map(([, type], at) => `$${at + 1}::${type}[]`).join(', ');
    this.#insert = `INSERT INTO "${schema}".run_events (${COLUMNS.map(([name]) => name).join(', ')}) SELECT * FROM unnest(${arrays})`;
  }

  rowsOf(events: readonly RunEventInput[]): Row[] {
    return events.map((event) => {
      const runSeq = (this.#sequences.get(event.runId) ?? this.#lastSeq) + 1;
      this.#sequences.set(event.runId, runSeq);
      const { tenantId, runId, eventId, eventType, emittedAt, projectId, environmentId, planId, planVersion } = event;
      return [
        ...[
          tenantId,
          runId,
          runSeq,
          eventId,
          eventType,
          emittedAt,
          Date.now(),
          projectId,
          environmentId,
          planId,
          planVersion,
        ],
        ...[1, 1, eventId, event.stepId, null, JSON.stringify(event.payload), 1, this.#link, 1, '1'],
      ];
    });
  }

  async insert(rows: readonly Row[], size: number): Promise<number> {
    for (let start = 0; start < rows.length; start += size) {
      const group = rows.slice(start, start + size);
      await this.#client.query(
        this.#insert,
        COLUMNS.map((_, column) => group.map((row) => row[column])),
      );
    }
    return rows.length;
  }

  async read(runId: string, total: number, page: number): Promise<number> {
    let read = 0;
    while (read < total) {
      const { rows } = await this.#client.query(
        `SELECT *, payload::text AS body FROM "${this.#schema}".run_events WHERE run_id = $1 AND tenant_id = 'bench' AND run_seq > $2 ORDER BY run_seq LIMIT $3`,
        [runId, read, page],
      );
      read += rows.length;
    }
    return read;
  }
}

interface Pair {
  ours: Store;
  raw: RawDriver;
}

async function makePair(url: string, client: pg.Client, name: string): Promise<Pair> {
  const ours = await postgresStore({ url, schema: `${name}_ours` });
  await (await postgresStore({ url, schema: `${name}_raw` })).close();
  return { ours, raw: new RawDriver(client, `${name}_raw`) };
}

function appendRates({ ours, raw }: Pair, runOf: (index: number) => string, rounds: number) {
  return compareRates(
    () => {
      const events = makeEvents(ROUND, runOf);
      return () => appendAll((event) => ours.runs.appendEvent(event), events, CALLERS);
    },
    () => {
      const rows = raw.rowsOf(makeEvents(ROUND, runOf));
      return () => raw.insert(rows, CALLERS);
    },
    rounds,
  );
}

/** Compares our store with itself: only new events, and the same with every twentieth event a duplicate. */
async function duplicateRates({ ours }: Pair, runOf: (index: number) => string) {
  const append = (event: RunEventInput) => ours.runs.appendEvent(event);
  const sent = makeEvents(ROUND / 20, (index) => runOf(index * 20));
  await appendAll(append, sent, CALLERS);
  return compareRates(
    () => {
      const events = makeEvents(ROUND, runOf).map((event, at) => (at % 20 === 0 ? sent[at / 20]! : event));
      return () => appendAll(append, events, CALLERS);
    },
    () => {
      const events = makeEvents(ROUND, runOf);
      return () => appendAll(append, events, CALLERS);
    },
    ROUNDS,
  );
}

async function growth(url: string, client: pg.Client, report: (line: string) => void, large: number): Promise<Figure> {
  const [small, big] = [await makePair(url, client, 'small'), await makePair(url, client, 'big')];
  for (const [pair, target] of [
    [small, 10_000],
    [big, large],
  ] as const) {
    for (let done = 0; done < target; done += 10_000) {
      const events = makeEvents(10_000, (index) => `run-${(done + index) % RUNS}`);
      for (let start = 0; start < events.length; start += 1_000)
        await pair.ours.runs.appendEvents(events.slice(start, start + 1_000), { timeoutMs: 60_000 });
      await pair.raw.insert(pair.raw.rowsOf(events), 1_000);
      if ((done + 10_000) % 100_000 === 0) report(`growth: ${done + 10_000} events stored`);
    }
  }
  await client.query('VACUUM ANALYZE');
  const slowdown = { ours: [] as number[], raw: [] as number[] };
  for (let round = 0; round < 7; round++) {
    const rate = (pair: Pair, who: 'ours' | 'raw') => {
      const events = makeEvents(6_400, (index) => `run-${(index * 7_919 + round) % RUNS}`);
      if (who === 'ours')
        return rateOf(() => () => appendAll((event) => pair.ours.runs.appendEvent(event), events, CALLERS));
      const rows = pair.raw.rowsOf(events);
      return rateOf(() => () => pair.raw.insert(rows, CALLERS));
    };
    for (const who of ['ours', 'raw'] as const) slowdown[who].push((await rate(small, who)) / (await rate(big, who)));
  }
  await small.ours.close();
  await big.ours.close();
  return atMost(1.2, `growth from 10⁴ to ${large.toExponential(0)} events`, '× slower', {
    ours: median(slowdown.ours),
    raw: median(slowdown.raw),
  });
}

export async function benchPostgres(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const server = await startOwnServer('postgres');
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const pair = await makePair(server.url, client, 'bench');
    report(`PostgreSQL ${server.version}: warming up`);
    await appendRates(pair, (index) => `run-${index % RUNS}`, 1);
    report('appends over 10 000 runs');
    const spread = await appendRates(pair, (index) => `run-${(index * 7_919) % RUNS}`, ROUNDS);
    report('appends to one hot run');
    const hot = await appendRates(pair, () => 'hot', ROUNDS);
    report('duplicates');
    const spreadDuplicates = await duplicateRates(pair, (index) => `run-${(index * 7_919) % RUNS}`);
    const hotDuplicates = await duplicateRates(pair, () => 'hot2');
    report('verified reads');
    const total = ROUND * ROUNDS;
    const reads = await compareRates(
      () => async () => {
        let read = 0;
        for await (const _ of pair.ours.runs.readEvents('hot', { tenantId: 'bench', limit: 1_000 })) read++;
        return read;
      },
      () => () => pair.raw.read('hot', total, 1_000),
      ROUNDS,
    );
    await pair.ours.close();
    return [
      atLeast(0.45, 'append, 64 callers, 10 000 runs', 'events/s', spread),
      atLeast(0.6, 'append, 64 callers, one hot run', 'events/s', hot),
      atLeast(0.9, '5 % duplicates over 10 000 runs, against none', 'events/s', spreadDuplicates),
      atLeast(0.9, '5 % duplicates on one hot run, against none', 'events/s', hotDuplicates),
      atLeast(0.5, 'verified pages of 1 000', 'events/s', reads),
      await growth(server.url, client, report, quick ? 100_000 : 1_000_000),
    ];
  } finally {
    await client.end();
    await server.stop();
  }
}

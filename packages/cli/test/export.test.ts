/** `tidemark export` to Parquet, read back by DuckDB. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { open } from 'tidemark';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';

const home = process.cwd();
let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-parquet-')));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true });
});

async function query(sql: string): Promise<unknown[]> {
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

it('writes Parquet files whose rows and types DuckDB reads as they were stored', async () => {
  const store = await open('sqlite:app.db');
  const events = 2_500;
  const run = store.runs.handle('order-42', { tenantId: 'acme', labels: { team: 'ops' } });
  await run.append('RunStarted', { text: 'ü☂ "quoted"\n', n: 1.5, nothing: null });
  const [started] = await store.runs.fetchEvents('order-42', { tenantId: 'acme' });
  const { runSeq: _, persistedAt: __, idempotencyKey: ___, ...first } = started!;
  for (let at = 0; at < events; at += 500)
    await store.runs.appendEvents(
      Array.from({ length: 500 }, (_, n) => ({
        ...first,
        eventId: crypto.randomUUID(),
        eventType: 'Progress',
        payload: { n: at + n },
        stepId: 's',
      })),
    );
  await run.append('RunCompleted');
  await store.runs.handle('another', { tenantId: 'other' }).append('RunStarted');
  const stored = await store.runs.fetchEvents('order-42', { tenantId: 'acme', limit: 1 });
  await store.close();

  const line = 'export --to out --store sqlite:app.db --tenant acme --rows-per-file 1000';
  const { code, stdout, stderr } = await tidemark(line);
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ events: events + 2, runs: 1 });

  const counts = `SELECT count(*)::INT AS n, count(DISTINCT run_seq)::INT AS seqs, max(run_seq)::INT AS last,
    sum(CASE WHEN event_type = 'Progress' THEN (payload::JSON->>'n')::INT ELSE 0 END)::INT AS total FROM 'out/events/*.parquet'`;
  expect(await query(counts)).toEqual([
    { n: events + 2, seqs: events + 2, last: events + 2, total: (events * (events - 1)) / 2 },
  ]);
  const [row] = (await query(
    `SELECT payload, others, step_id, run_seq, epoch_ms(persisted_at)::VARCHAR AS persisted FROM 'out/events/*.parquet' WHERE run_seq = 1`,
  )) as [Record<string, string>];
  expect(JSON.parse(row.payload!)).toEqual({ text: 'ü☂ "quoted"\n', n: 1.5, nothing: null });
  expect(JSON.parse(row.others!)).toEqual({ labels: { team: 'ops' } });
  expect([row.step_id, row.run_seq, row.persisted]).toEqual([null, '1', String(Date.parse(stored[0]!.persistedAt))]);
  const types = await query(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM 'out/events/*.parquet')`);
  expect(Object.fromEntries(types.map((it) => Object.values(it as object)))).toMatchObject({
    tenant_id: 'VARCHAR',
    run_seq: 'BIGINT',
    persisted_at: 'TIMESTAMP WITH TIME ZONE',
    payload: 'VARCHAR',
  });
  expect(await query(`SELECT run_id, status, last_event_seq FROM 'out/runs/*.parquet'`)).toEqual([
    { run_id: 'order-42', status: 'COMPLETED', last_event_seq: String(events + 2) },
  ]);

  const again = await tidemark(`${line} --table events`);
  expect(JSON.parse(again.stdout)).toEqual({ events: 0, runs: 0, files: 0 });
  const refused = await tidemark('export --to out --store sqlite:app.db');
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('tenantId must be as in the export that it continues (acme)');
});

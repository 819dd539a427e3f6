/** `tidemark import v1`: JSON lines and tables, repeated, interrupted, dry and with faults. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { open } from 'tidemark';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import { tidemark } from './command-line.ts';

const home = process.cwd();
const TABLE = `(run_id TEXT, run_seq BIGINT, event_id TEXT, step_id TEXT, engine_attempt_id TEXT, logical_attempt_id TEXT,
  event_type TEXT, event_data JSON, idempotency_key TEXT, emitted_at TEXT, persisted_at TEXT)`;
let directory: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-v1-')));
  mkdirSync(join(directory, 'work'));
  process.chdir(join(directory, 'work'));
});
afterEach(() => {
  process.chdir(home);
  rmSync(directory, { recursive: true });
});

function line(n: number, change: object = {}): object {
  return {
    ...{ runId: 'run-1', runSeq: n * 3, eventId: `evt-${n}`, eventType: n === 1 ? 'RunStarted' : 'Noted' },
    ...{ idempotencyKey: `key-${n}`, emittedAt: '2026-02-16T09:30:00.000Z', logicalAttemptId: '2', eventData: { n } },
    ...change,
  };
}

function writeLines(...lines: object[]): void {
  writeFileSync('v1.jsonl', lines.map((it) => `${JSON.stringify(it)}\n`).join(''));
}

async function imported(line: string) {
  const { code, stdout, stderr } = await tidemark(`import v1 ${line}`);
  return { code, report: stdout === '' ? undefined : JSON.parse(stdout), stderr };
}

async function eventsOf(runId: string, tenantId = 'default') {
  await using store = await open();
  return await store.forTenant(tenantId).runs.fetchEvents(runId);
}

describe('JSON lines', () => {
  it('are appended in order, with their keys, ids and old sequences', async () => {
    writeLines(line(1), line(2), line(1, { runId: 'run-2' }));
    const { code, report } = await imported(
      'v1.jsonl --tenant acme --project shop --environment prod --plan p --plan-version 7',
    );
    expect(code).toBe(0);
    expect(report).toEqual({ runs: 2, events: 3, imported: 3, duplicates: 0, conflicts: 0 });
    const events = await eventsOf('run-1', 'acme');
    expect(events).toMatchObject([
      {
        runSeq: 1,
        sourceRunSeq: 3,
        sourceEventId: 'evt-1',
        idempotencyKey: 'key-1',
        logicalAttemptId: 2,
        payload: { n: 1 },
      },
      { runSeq: 2, sourceRunSeq: 6, projectId: 'shop', environmentId: 'prod', planId: 'p', planVersion: '7' },
    ]);
  });

  it('are stored once when the import is repeated with more lines', async () => {
    writeLines(line(1));
    await imported('v1.jsonl');
    writeLines(line(1), line(2));
    expect((await imported('v1.jsonl')).report).toMatchObject({ imported: 1, duplicates: 1, conflicts: 0 });
    expect(await eventsOf('run-1')).toHaveLength(2);
  });

  it('that contradict a stored event are counted and not imported', async () => {
    writeLines(line(1));
    await imported('v1.jsonl');
    writeLines(line(1, { eventData: { n: 'other' } }), line(2));
    expect(await imported('v1.jsonl')).toMatchObject({ code: 5, report: { imported: 1, conflicts: 1 } });
    expect((await eventsOf('run-1'))[0]?.payload).toEqual({ n: 1 });
  });

  it('are only counted in a dry run', async () => {
    writeLines(line(1), line(2));
    expect((await imported('v1.jsonl --dry-run')).report).toEqual({
      dryRun: true,
      would: 'import',
      runs: 1,
      events: 2,
    });
    expect(await eventsOf('run-1')).toEqual([]);
  });

  it.each([
    ['a missing key', { idempotencyKey: undefined }, 'idempotencyKey of v1.jsonl:2 must be a string that is not empty'],
    ['a wrong attempt', { logicalAttemptId: 'two' }, 'logicalAttemptId of v1.jsonl:2'],
    ['a wrong time', { emittedAt: 'yesterday' }, 'emittedAt of v1.jsonl:2 must be a time'],
  ])('with %s are refused with their line number, even in a dry run', async (_, change, message) => {
    writeLines(line(1), line(2, change));
    for (const option of ['', ' --dry-run']) {
      const { code, stderr } = await imported(`v1.jsonl${option}`);
      expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  it('name the run to continue with after a fault, and continue there', async () => {
    writeLines(line(1), line(1, { runId: 'run-2' }), line(2, { runId: 'run-3', emittedAt: '' }));
    const { code, stderr } = await imported('v1.jsonl');
    expect([code, stderr]).toEqual([2, expect.stringContaining('--from-run run-1')]);
    writeLines(line(1), line(1, { runId: 'run-2' }), line(1, { runId: 'run-3' }));
    expect((await imported('v1.jsonl --from-run run-2')).report).toMatchObject({ events: 2, imported: 2 });
  });

  it('continue at the first line of a run when the runs are not sorted', async () => {
    const unsorted = [line(1, { runId: 'run-9' }), line(1, { runId: 'run-5' }), line(2, { runId: 'run-9' })];
    writeLines(...unsorted, line(1, { runId: 'run-1' }), line(2, { runId: 'run-5' }));
    expect((await imported('v1.jsonl --from-run run-5')).report).toMatchObject({ runs: 3, events: 4, imported: 4 });
    expect((await imported('v1.jsonl --from-run run-9')).report).toMatchObject({ imported: 1, duplicates: 4 });
    const missing = await imported('v1.jsonl --from-run run-7');
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('a run of v1.jsonl')]);
  });
});

describe('a table', () => {
  const rows = [
    ['run-b', 1, 'RunStarted', '{"by":"ada"}', 'k1', '2026-02-16T10:30:00+01:00'],
    ['run-a', 7, 'RunCompleted', null, 'k3', '2026-02-16T09:31:00.000Z'],
    ['run-a', 2, 'RunStarted', '"text"', 'k2', '2026-02-16T09:30:00.000Z'],
  ];
  const INSERT = (table: string, value: (n: number) => string) =>
    `INSERT INTO ${table} (run_id, run_seq, event_id, event_type, event_data, idempotency_key, emitted_at)
     VALUES (${value(1)}, ${value(2)}, '9f0e9f5e-6d0c-4d7c-9a53-0d1f2a3b4c5d', ${value(3)}, ${value(4)}, ${value(5)}, ${value(6)})`;

  async function expectImport(source: string): Promise<void> {
    expect(await imported(source)).toMatchObject({ code: 0, report: { runs: 2, events: 3, imported: 3 } });
    expect(await eventsOf('run-a')).toMatchObject([
      { eventType: 'RunStarted', sourceRunSeq: 2, payload: { value: 'text' } },
      { eventType: 'RunCompleted', sourceRunSeq: 7 },
    ]);
    expect(await eventsOf('run-b')).toMatchObject([{ emittedAt: '2026-02-16T09:30:00.000Z', payload: { by: 'ada' } }]);
    expect((await imported(`${source} --from-run run-b`)).report).toMatchObject({ runs: 1, duplicates: 1 });
  }

  it('of SQLite is read in order of runs and sequences', async () => {
    const database = new DatabaseSync('old.db');
    database.exec(`CREATE TABLE old_events ${TABLE}`);
    for (const row of rows) database.prepare(INSERT('old_events', () => '?')).run(...row);
    database.close();
    await expectImport('sqlite:old.db --table old_events');
    expect((await imported('sqlite:missing.db')).stderr).toContain('There is no file missing.db');
    expect((await imported('sqlite:old.db --table a;b')).code).toBe(2);
  });

  it.runIf(neededServers().includes('postgres'))('of PostgreSQL is read in order of runs and sequences', async () => {
    const { default: pg } = await import('pg');
    const url = offeredUrl('postgres')!;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const schema = `v1_${crypto.randomUUID().slice(0, 8)}`;
    try {
      await client.query(`CREATE SCHEMA ${schema}`);
      await client.query(`CREATE TABLE ${schema}.run_events ${TABLE}`);
      for (const row of rows)
        await client.query(
          INSERT(`${schema}.run_events`, (n) => `$${n}`),
          row,
        );
      await expectImport(`${url} --table ${schema}.run_events`);
    } finally {
      await client.query(`DROP SCHEMA ${schema} CASCADE`);
      await client.end();
    }
  });
});

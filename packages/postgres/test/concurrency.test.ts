/** Many processes on one database: they agree on one order, and the tables are set up once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkHistory } from '../../../faults/history.ts';
import { readLogs } from '../../../faults/notes.ts';
import { planMigrations } from '../src/index.ts';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { Program } from './programs.ts';
import { withClient } from './servers.ts';
import type { ChildReport } from './writers-child.ts';

const PROCESSES = 8;
const WRITERS = 50;
const EVENTS = 10;
const TOTAL = PROCESSES * WRITERS * EVENTS;
const LIMIT = { timeout: 120_000 };

function startProcesses(url: string, writers: number): Program[] {
  const args = [writers, EVENTS, TOTAL].map(String);
  const programs = Array.from(
    { length: PROCESSES },
    (_, at) => new Program('writers-child.ts', url, String(at), ...args),
  );
  onTestFinished(async () => {
    await Promise.all(programs.map((program) => program.kill().catch(() => {})));
  });
  return programs;
}

async function appliedVersions(url: string): Promise<number[]> {
  const { rows } = await withClient(url, (client) =>
    client.query('SELECT version FROM tidemark.tidemark_migrations ORDER BY version'),
  );
  return rows.map(({ version }) => version);
}

describe.skipIf(WITHOUT_POSTGRES)('eight processes', () => {
  it('open an empty database at once, and it is set up once', LIMIT, async () => {
    const url = await newDatabase();
    const programs = startProcesses(url, 0);
    await Promise.all(programs.map((program) => program.line('open')));
    await Promise.all(programs.map((program) => program.ended));
    expect(await appliedVersions(url)).toEqual(planMigrations().map(({ version }) => version));
  });

  it(
    'with 50 writers each append to one run in a dense order that every reader sees once (RUN-2, RUN-3, RUN-6)',
    LIMIT,
    async () => {
      const url = await newDatabase();
      const programs = startProcesses(url, WRITERS);
      await Promise.all(programs.map((program) => program.line('open')));
      for (const program of programs) program.writeLine('go');
      const lines = await Promise.all(programs.map((program) => program.line('{')));
      await Promise.all(programs.map((program) => program.ended));
      const reports = lines.map((line) => JSON.parse(line) as ChildReport);

      const store = await openStore(url);
      const logs = await readLogs(store, ['hot']);
      const notes = reports.flatMap((report) => report.notes).sort((a, b) => Number(BigInt(a.at) - BigInt(b.at)));
      expect(checkHistory(notes, logs)).toEqual({ acked: TOTAL, unknown: 0, unknownStored: 0, problems: [] });
      const everySequence = Array.from({ length: TOTAL }, (_, at) => at + 1);
      for (const { read } of reports) expect(read).toEqual(everySequence);
      expect(await store.runs.verify('hot', { tenantId: 'faults' })).toMatchObject({ ok: true, events: TOTAL });
    },
  );
});

describe.skipIf(WITHOUT_POSTGRES)('a process killed while it sets up the database', () => {
  /** Slows down every CREATE, so that the kill hits the middle of a migration. */
  const SLOW = `
    CREATE FUNCTION slow_down() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.03); END $$;
    CREATE EVENT TRIGGER slow_down ON ddl_command_start WHEN TAG IN ('CREATE TABLE', 'CREATE INDEX') EXECUTE FUNCTION slow_down()`;

  it.each([0, 1, 2, 3])(
    'after %i migrations leaves nothing half done: the next process completes it (F20)',
    LIMIT,
    async (count) => {
      const url = await newDatabase();
      const client = await openClient(url);
      await client.query(SLOW);
      const program = new Program('writers-child.ts', url, '0', '0', '0', '0');
      const applied = async () => {
        const { rows } = await client.query("SELECT to_regclass('tidemark.tidemark_migrations') IS NOT NULL AS there");
        return rows[0].there ? (await appliedVersions(url)).length : -1;
      };
      while ((await applied()) < count) await sleep(5);
      await program.kill();
      expect(await applied()).toBeLessThan(planMigrations().length);
      await client.query('DROP EVENT TRIGGER slow_down');

      const store = await openStore(url);
      expect(await store.runs.appendEvent(runEvent('r'))).toMatchObject({ runSeq: 1 });
      expect(await appliedVersions(url)).toEqual(planMigrations().map(({ version }) => version));
    },
  );
});

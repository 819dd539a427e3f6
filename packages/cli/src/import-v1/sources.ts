/** Reads version 1 events from JSON lines, or from a table in SQLite or PostgreSQL, ordered by run and sequence. */
import { createReadStream, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { invalidArgument, TidemarkError } from '@tidemark/core';
import { noFile } from '../failures.ts';
import type { Io } from '../io.ts';

/** An event in the form in which it was read, with its position for error messages. */
export interface SourceRow {
  position: string;
  fields: Record<string, unknown>;
}

export interface SourceOptions {
  table: string;
  /** Starts at this run: at its first line in a file, and in a table also skips runs with lower ids. */
  fromRun?: string;
}

const PAGE = 1_000;

/** Opens a source: `-`, the name of a file, or the URL of a database. */
export function readRows(source: string, options: SourceOptions, io: Io): AsyncIterable<SourceRow> {
  if (/^postgres(?:ql)?:/.test(source)) return readPostgres(source, options);
  if (source.startsWith('sqlite:')) return readSqlite(source.slice('sqlite:'.length), options);
  return readLines(source, options, io);
}

/** Lines may be in any order, so that the ids of runs do not show which lines an earlier import has read. */
async function* readLines(name: string, { fromRun }: SourceOptions, io: Io): AsyncGenerator<SourceRow> {
  const input = name === '-' ? Readable.from(io.stdin) : createReadStream(name);
  let number = 0;
  let hasStarted = fromRun === undefined;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    if (line.trim() === '') continue;
    const fields = parseLine(line, `${name}:${number}`);
    hasStarted ||= String(fields.runId ?? fields.run_id) === fromRun;
    if (hasStarted) yield { position: `${name}:${number}`, fields };
  }
  if (!hasStarted) throw invalidArgument('fromRun', `a run of ${name}`, fromRun);
}

function parseLine(line: string, position: string): Record<string, unknown> {
  try {
    const fields: unknown = JSON.parse(line);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields as never;
  } catch {
    // Reported below, with the position.
  }
  throw invalidArgument(position, 'a JSON object with an event of version 1');
}

async function* readSqlite(path: string, { table, fromRun = '' }: SourceOptions): AsyncGenerator<SourceRow> {
  if (!existsSync(path)) throw noFile(`There is no file ${path}`);
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = database
      .prepare(`SELECT * FROM ${quoted(table)} WHERE run_id >= ? ORDER BY run_id, run_seq`)
      .iterate(fromRun);
    for (const row of rows) yield rowOf(row);
  } finally {
    database.close();
  }
}

/** The parts of `pg` that are used here. The driver is installed with `@tidemark/postgres`. */
interface PgModule {
  Client: new (options: {
    connectionString: string;
  }) => {
    connect(): Promise<void>;
    query(text: string, values: unknown[]): Promise<{ rows: { fields: Record<string, unknown> }[] }>;
    end(): Promise<void>;
  };
}

async function* readPostgres(url: string, { table, fromRun = '' }: SourceOptions): AsyncGenerator<SourceRow> {
  const client = new (loadPg().Client)({ connectionString: url });
  try {
    await client.connect();
    const text = `SELECT to_jsonb(t) AS fields FROM ${quoted(table)} t
      WHERE run_id COLLATE "C" >= $1 AND ($2::bigint IS NULL OR run_id <> $1 OR run_seq > $2)
      ORDER BY run_id COLLATE "C", run_seq LIMIT ${PAGE}`;
    for (let after: [string, unknown] = [fromRun, null]; ; ) {
      const { rows } = await client.query(text, after);
      for (const { fields } of rows) yield rowOf(fields);
      const last = rows.at(-1);
      if (rows.length < PAGE || !last) return;
      after = [String(last.fields.run_id), last.fields.run_seq];
    }
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    throw new TidemarkError('UNAVAILABLE', `The table ${table} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    await client.end();
  }
}

function loadPg(): PgModule {
  try {
    const own = createRequire(import.meta.url);
    return createRequire(own.resolve('@tidemark/postgres'))('pg') as PgModule;
  } catch (cause) {
    throw new TidemarkError('DRIVER_MISSING', 'Install the driver: npm install @tidemark/postgres', { cause });
  }
}

function rowOf(fields: Record<string, unknown>): SourceRow {
  return { position: `run ${String(fields.run_id)}, sequence ${String(fields.run_seq)}`, fields };
}

/** Quotes the name of a table, with its schema if there is one. */
function quoted(table: string): string {
  const parts = table.split('.');
  if (parts.some((part) => !/^\w+$/.test(part))) throw invalidArgument('table', 'a name such as run_events', table);
  return parts.map((part) => `"${part}"`).join('.');
}

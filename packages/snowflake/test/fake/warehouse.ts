/** Runs the statements of a sink in DuckDB, one after the other, as a table of Snowflake runs its merges. */
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { MACROS, toDuckDb } from './dialect.ts';

export interface Binding {
  type: string;
  value: string;
}

export interface Rows {
  columns: string[];
  rows: (string | null)[][];
}

/** A refusal in the words of Snowflake. */
export class Refused extends Error {
  readonly code: string;
  readonly sqlState: string;

  constructor(message: string, code: string, sqlState: string) {
    super(message);
    this.code = code;
    this.sqlState = sqlState;
  }
}

export interface WarehouseOptions {
  /** File of the database. Default: in memory. */
  file?: string;
  /** The directories behind the stages, by name. */
  stages?: Record<string, string>;
}

/** DuckDB takes 80 % of the machine's memory by default, which other tests and servers need. */
const MEMORY = '4GB';

const COPY = /^COPY INTO (\S+) \(NAME, EVENT\)\nFROM \(SELECT '([^']+)', \$1 FROM @(\S+)\)/;

export class Warehouse {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #stages: Record<string, string>;
  /** Snowflake remembers the files that it loaded. */
  readonly #loaded = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  /** Values that are refused, to test dead letters. */
  refused: string | null = null;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, stages: Record<string, string>) {
    this.#instance = instance;
    this.#connection = connection;
    this.#stages = stages;
  }

  /** Opens a database `ANALYTICS` with an empty schema `TIDEMARK`. */
  static async open({ file = ':memory:', stages = {} }: WarehouseOptions = {}): Promise<Warehouse> {
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const warehouse = new Warehouse(instance, connection, stages);
    for (const statement of [
      `SET TimeZone = 'UTC'`,
      `SET memory_limit = '${MEMORY}'`,
      ...(file === ':memory:' ? [] : [`SET temp_directory = '${file}.spilled'`]),
      `ATTACH '${file}' AS ANALYTICS`,
      'CREATE SCHEMA IF NOT EXISTS ANALYTICS.TIDEMARK',
      ...MACROS,
    ])
      await connection.run(statement);
    return warehouse;
  }

  run(statement: string, bindings: Record<string, Binding> = {}): Promise<Rows> {
    const result = this.#last.then(() => this.#run(statement, bindings));
    this.#last = result.catch(() => {});
    return result;
  }

  /** Waits until all statements that were accepted have been run. */
  async settled(): Promise<void> {
    let last: unknown;
    while (last !== this.#last) {
      last = this.#last;
      await this.#last;
    }
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #run(statement: string, bindings: Record<string, Binding>): Promise<Rows> {
    const values = Object.keys(bindings)
      .sort((a, b) => Number(a) - Number(b))
      .map((key) => bindings[key]!)
      .map(({ type, value }) => (type === 'FIXED' ? BigInt(value) : value));
    if (this.refused !== null && values.some((it) => typeof it === 'string' && it.includes(this.refused!)))
      throw new Refused('Value is too long', '100078', '22000');
    const copy = COPY.exec(statement);
    if (copy) return this.#copy(copy[1]!, copy[2]!, copy[3]!);
    try {
      const reader = await this.#connection.runAndReadAll(toDuckDb(statement), values);
      const rows = reader.getRowsJson().map((row) => row.map((it) => (it === null ? null : String(it))));
      return { columns: reader.columnNames(), rows };
    } catch (error) {
      const { message } = error as Error;
      if (message.includes('does not exist')) throw new Refused(message, '002003', '42S02');
      throw new Refused(message, '001003', '42000');
    }
  }

  async #copy(table: string, file: string, stage: string): Promise<Rows> {
    const done = { columns: ['file', 'status'], rows: [[file, 'LOADED']] };
    if (this.#loaded.has(file)) return { ...done, rows: [] };
    const path = join(this.#stages[stage]!, file);
    await this.#connection.run(
      `INSERT INTO ${table} (NAME, EVENT) SELECT ?, json FROM read_json_objects(?, format = 'newline_delimited')`,
      [file, path],
    );
    this.#loaded.add(file);
    return done;
  }
}

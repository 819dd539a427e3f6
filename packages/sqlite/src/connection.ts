/** A connection with crash-safe settings (GEN-9), and its prepared statements. */
import type { StatementSync } from 'node:sqlite';
import { invalidArgument } from '@tidemark/core';
import { DatabaseSync } from './node-sqlite.ts';

export type Parameter = string | number | null | Uint8Array;

export interface ConnectionOptions {
  readOnly?: boolean;
  /** The time source of `tidemark_now()`. */
  clock: () => number;
}

/** WAL size at which a commit also checkpoints: 4 MiB, SQLite's default. */
const CHECKPOINT_PAGES = 1_000;

/** Opens a file with the settings that every connection of the store has. */
export function openConnection(path: string, options: ConnectionOptions): Connection {
  const database = new DatabaseSync(path, { readOnly: options.readOnly ?? false });
  // Our own asynchronous retry waits for locks: a busy timeout would block the whole process.
  database.exec('PRAGMA busy_timeout = 0; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY');
  if (!options.readOnly) {
    database.exec(`
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON;
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = 67108864;
    `);
    // Without these, macOS passes data to the drive and does not wait until it is durable.
    if (process.platform === 'darwin') database.exec('PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1');
  }
  database.function('tidemark_now', { deterministic: false }, () => options.clock());
  return new Connection(database);
}

const ofCallers = new WeakMap<DatabaseSync, Connection>();

/** Wraps the caller's handle, for writing inside the caller's transaction. */
export function connectionOf(handle: unknown): Connection {
  // Node before 22.16 does not report whether a transaction is open.
  if (!(handle instanceof DatabaseSync) || handle.isTransaction === false) {
    throw invalidArgument('transaction', 'a DatabaseSync of node:sqlite with an open transaction', handle);
  }
  let connection = ofCallers.get(handle);
  if (!connection) {
    connection = new Connection(handle);
    ofCallers.set(handle, connection);
  }
  return connection;
}

export class Connection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  /** Returns a prepared statement from the cache, or prepares it. Its rows are objects. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.database.prepare(withSteadyLimits(sql));
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  /** Returns all rows as arrays of columns, which are cheaper to read than objects. */
  allArrays(sql: string, ...params: Parameter[]): unknown[][] {
    const key = `[]${sql}`;
    let statement = this.#statements.get(key);
    if (!statement) {
      statement = this.database.prepare(withSteadyLimits(sql));
      // Node before 22.16 cannot return arrays.
      statement.setReturnArrays?.(true);
      this.#statements.set(key, statement);
    }
    const rows = statement.all(...params) as unknown[];
    return rows.length > 0 && !Array.isArray(rows[0])
      ? rows.map((row) => Object.values(row as object))
      : (rows as unknown[][]);
  }

  all<Row>(sql: string, ...params: Parameter[]): Row[] {
    return this.prepare(sql).all(...params) as Row[];
  }

  get<Row>(sql: string, ...params: Parameter[]): Row | undefined {
    return this.prepare(sql).get(...params) as Row | undefined;
  }

  run(sql: string, ...params: Parameter[]): number {
    return Number(this.prepare(sql).run(...params).changes);
  }

  /** Changes whenever another connection has committed. */
  dataVersion(): number {
    return this.get<{ data_version: number }>('PRAGMA data_version')!.data_version;
  }

  /** Rolls back an open transaction. SQLite may already have done so, for example after a full disk. */
  rollBack(): void {
    try {
      this.database.exec('ROLLBACK');
    } catch (error) {
      if (!/no transaction is active/.test((error as Error).message)) throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.database.close();
  }
}

/**
 * Makes limits expressions. The plan of a newer SQLite (seen with 3.53) depends on the value of a bare parameter in LIMIT, so
 * SQLite would compile the statement again for every execution, which costs more than most of our reads.
 */
function withSteadyLimits(sql: string): string {
  return sql.replaceAll(/\b(LIMIT|OFFSET) \?/g, '$1 CAST(? AS INTEGER)');
}

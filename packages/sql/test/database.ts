/**
 * A minimal database for testing shared SQL without an engine: node:sqlite on a file, one writer at a time, a clock
 * that tests control. Several handles on one file act as several processes.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Store } from '@tidemark/core';
import { assembleStore, Signals, StoreContext } from '@tidemark/core/engine';
import {
  type LargeBlobs,
  NOW,
  type SqlDatabase,
  type SqlTransaction,
  type SqlValue,
  sqlAgents,
  sqlArtifacts,
  sqlRecords,
} from '@tidemark/sql';
import { beforeEach } from 'vitest';

const MIGRATIONS = join(import.meta.dirname, '../../sqlite/migrations');

/** A file with the schema. Only one handle writes at a time. */
export class TestFile {
  readonly directory = mkdtempSync(join(tmpdir(), 'tidemark-sql-'));
  readonly path = join(this.directory, 'test.db');
  #lastWrite: Promise<unknown> = Promise.resolve();
  #offset = 0;

  constructor() {
    const database = new DatabaseSync(this.path);
    database.exec('PRAGMA journal_mode = WAL');
    for (const name of readdirSync(MIGRATIONS).sort()) database.exec(readFileSync(join(MIGRATIONS, name), 'utf8'));
    database.close();
  }

  clock = (): number => Date.now() + this.#offset;

  advance(ms: number): void {
    this.#offset += ms;
  }

  takeTurn<T>(work: () => Promise<T>): Promise<T> {
    const write = this.#lastWrite.then(work);
    this.#lastWrite = write.catch(() => {});
    return write;
  }

  dispose(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export class TestDatabase implements SqlDatabase {
  readonly forUpdate = '';
  readonly revisions = {
    next: `UPDATE @kv_revision SET revision = revision + 1 RETURNING revision, ${NOW} AS now`,
    latest: `SELECT revision, ${NOW} AS now FROM @kv_revision`,
    committedInOrder: true,
  };
  readonly handle: DatabaseSync;
  /** Every statement in the order it was run. */
  readonly statements: string[] = [];
  readonly #file: TestFile;

  constructor(file: TestFile) {
    this.#file = file;
    this.handle = new DatabaseSync(file.path);
    this.handle.exec('PRAGMA synchronous = OFF; PRAGMA busy_timeout = 1000');
    this.handle.function('tidemark_now', { deterministic: false }, () => file.clock());
  }

  async read<Row>(sql: string, params: readonly SqlValue[]): Promise<Row[]> {
    return this.#all<Row>(sql, params);
  }

  write<T>(work: (tx: SqlTransaction) => Promise<T>): Promise<T> {
    return this.#file.takeTurn(async () => {
      this.handle.exec('BEGIN IMMEDIATE');
      try {
        const result = await work({
          all: async <Row>(sql: string, params: readonly SqlValue[]) => this.#all<Row>(sql, params),
          run: async (sql, params) => this.#run(sql, params),
        });
        this.handle.exec('COMMIT');
        return result;
      } catch (error) {
        this.handle.exec('ROLLBACK');
        throw error;
      }
    });
  }

  #all<Row>(sql: string, params: readonly SqlValue[]): Row[] {
    this.statements.push(sql);
    return this.handle.prepare(nativeSql(sql)).all(...params) as Row[];
  }

  #run(sql: string, params: readonly SqlValue[]): number {
    this.statements.push(sql);
    return Number(this.handle.prepare(nativeSql(sql)).run(...params).changes);
  }
}

function nativeSql(sql: string): string {
  return sql.replaceAll('@', '');
}

export type TestStore = Store & { database: TestDatabase };

/** Opens a store on a new file before each test, and removes both after it. */
export function eachTest(use: (file: TestFile, store: TestStore) => void): void {
  beforeEach(() => {
    const file = new TestFile();
    const store = openTestStore(file);
    use(file, store);
    return async () => {
      await store.close();
      file.dispose();
    };
  });
}

/** Opens a store over a separate handle on the file. */
export function openTestStore(file: TestFile, largeBlobs?: LargeBlobs): TestStore {
  const context = new StoreContext({ clock: () => file.clock() });
  const database = new TestDatabase(file);
  const signals = new Signals();
  const store = assembleStore(context, {
    backend: 'test-sql',
    version: process.versions.sqlite ?? 'unknown',
    can: { 'kv.watch': true, reopen: true },
    durability: () => 'none',
    kv: sqlRecords(database, signals),
    agents: sqlAgents(database, signals),
    artifacts: sqlArtifacts(database, largeBlobs),
    ping: async () => {},
    doctor: async () => ({ durability: 'none', findings: [] }),
    close: async () => database.handle.close(),
  });
  return Object.assign(store, { database });
}

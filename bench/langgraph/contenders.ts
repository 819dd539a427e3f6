/**
 * Our saver and LangGraph's own savers, each on a separate database. LangGraph's are installed with
 * `npm ci --prefix bench/langgraph`, not with the repository, so their types are declared here as far as they are used.
 */
import { statSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type { Store } from '@tidemark/core';
import { TidemarkSaver } from '@tidemark/langgraph';
import { postgresStore } from '@tidemark/postgres';
import { sqliteStore } from '@tidemark/sqlite';
import pg from 'pg';

/** A saver on a new database. */
export interface Contender {
  name: string;
  saver: BaseCheckpointSaver;
  /** Returns a saver that remembers nothing of earlier calls, as in a new process. */
  another(): BaseCheckpointSaver;
  close(): Promise<unknown>;
  /** Returns the size of what was stored. SQLite is measured closed, when its log has been moved to the database. */
  bytes(): Promise<number>;
}

/** Our saver and LangGraph's on one engine. */
export interface Pair {
  ours(options?: { compress?: boolean }): Promise<Contender>;
  theirs(): Promise<Contender>;
}

interface SqliteDatabase {
  close(): void;
  exec(sql: string): unknown;
  pragma(text: string): unknown;
  prepare(sql: string): unknown;
}

const KEPT: unknown[] = [];

interface SqliteModule {
  SqliteSaver: { fromConnString(path: string): BaseCheckpointSaver & { db: SqliteDatabase } };
}

interface PostgresModule {
  PostgresSaver: {
    fromConnString(url: string): BaseCheckpointSaver & { setup(): Promise<void>; end(): Promise<void> };
  };
}

/** Imports a package whose types are not installed. */
async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

export const ON_SQLITE: Pair = {
  async ours(options = {}) {
    const path = await newPath();
    return ourContender(await sqliteStore(path), options, async () => fileSize(path));
  },
  async theirs() {
    const { SqliteSaver } = await load<SqliteModule>('@langchain/langgraph-checkpoint-sqlite');
    const path = await newPath();
    const saver = openTheirs(() => SqliteSaver.fromConnString(path));
    keepStatements(saver.db);
    // By default, its driver does not flush the log on every commit. Ours does, so both survive a crash of the host.
    saver.db.exec('PRAGMA synchronous = FULL');
    const close = async () => saver.db.close();
    return { name: 'checkpoint-sqlite', saver, another: () => saver, close, bytes: async () => fileSize(path) };
  },
};

export function onPostgres(server: string): Pair {
  return {
    async ours(options = {}) {
      const { url, bytes } = await newDatabase(server);
      const store = await postgresStore({ url });
      const empty = await bytes();
      return ourContender(store, options, async () => (await bytes()) - empty);
    },
    async theirs() {
      const { PostgresSaver } = await load<PostgresModule>('@langchain/langgraph-checkpoint-postgres');
      const { url, bytes } = await newDatabase(server);
      const saver = PostgresSaver.fromConnString(url);
      await saver.setup();
      const empty = await bytes();
      const size = async () => (await bytes()) - empty;
      return { name: 'checkpoint-postgres', saver, another: () => saver, close: () => saver.end(), bytes: size };
    },
  };
}

function ourContender(store: Store, options: { compress?: boolean }, bytes: () => Promise<number>): Contender {
  const another = () => new TidemarkSaver(store, options);
  return { name: 'tidemark', saver: another(), another, close: () => store.close(), bytes };
}

/** Opens their saver. Its driver is compiled for the Node that installs it, which may not be the one of the repository. */
function openTheirs<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_DLOPEN_FAILED') throw error;
    const command = "npm exec -c 'npm rebuild better-sqlite3 --prefix bench/langgraph'";
    throw new Error(`better-sqlite3 was compiled for another Node: run ${command}`, { cause: error });
  }
}

/** On some versions of Node, the driver ends the process when a statement is collected as garbage. */
function keepStatements(db: SqliteDatabase): void {
  const prepare = db.prepare.bind(db);
  db.prepare = (sql) => {
    const statement = prepare(sql);
    KEPT.push(statement);
    return statement;
  };
  db.pragma = (text) => db.exec(`PRAGMA ${text}`);
  KEPT.push(db);
}

async function newPath(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'tidemark-bench-')), 'state.db');
}

/** Returns the size of a database and of its log, if there is one. */
function fileSize(path: string): number {
  return [path, `${path}-wal`].reduce((sum, it) => sum + (statSync(it, { throwIfNoEntry: false })?.size ?? 0), 0);
}

async function newDatabase(server: string): Promise<{ url: string; bytes(): Promise<number> }> {
  const name = `bench_${crypto.randomUUID().slice(0, 8)}`;
  await ask(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const bytes = async () => {
    const [row] = await ask(server, `SELECT pg_database_size('${name}') AS bytes`);
    return Number(row!.bytes);
  };
  return { url: url.href, bytes };
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

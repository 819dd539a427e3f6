/** The PostgreSQL store: all domains on one schema. */
import { type Durability, invalidArgument, type Store } from '@tidemark/core';
import { assembleStore, type EngineCall, StoreContext, withUrlOptions } from '@tidemark/core/engine';
import { SQL_ABILITIES, sqlAgents, sqlArtifacts, sqlCleaner, sqlRecords, sqlTenancy } from '@tidemark/sql';
import type pg from 'pg';
import { Database } from './database.ts';
import { examine } from './doctor.ts';
import { durabilityOf, requireDurability } from './doctor-durability.ts';
import { checkIndexes } from './doctor-indexes.ts';
import { beginEpoch } from './epochs.ts';
import { translateRead } from './errors.ts';
import { checkMigrated, migrate } from './migrations.ts';
import { Notifications } from './notifications.ts';
import { checkSchema, DEFAULT_SCHEMA, type PostgresOptions, URL_OPTIONS } from './options.ts';
import { connectPool } from './pool.ts';
import { type Confinement, confinementOf } from './roles.ts';
import { PostgresRuns } from './runs.ts';
import { Dialect } from './sql.ts';

/**
 * Opens a store on PostgreSQL 14 or newer, and migrates its schema unless `migrate` is false.
 *
 * @throws `INVALID_ARGUMENT` for an option it cannot use, `UNAVAILABLE` when the server cannot be reached,
 * `SCHEMA_MISMATCH` for a schema of another version, `DURABILITY_TOO_WEAK` under `durability: 'require'`.
 * @example
 * ```ts
 * const store = await postgresStore('postgres://localhost/app');
 * await store.runs.handle('order-42').append('RunStarted');
 * await store.close();
 * ```
 */
export async function postgresStore(options: string | PostgresOptions): Promise<Store> {
  const given = withUrlOptions(typeof options === 'string' ? { url: options } : options, URL_OPTIONS);
  if (typeof given.url !== 'string') throw invalidArgument('url', 'a URL such as postgres://localhost/app', given.url);
  const schema = checkSchema(given.schema ?? DEFAULT_SCHEMA);
  const context = new StoreContext(given);
  try {
    const { pool, sessions } = await connectPool(given, context.timeoutMs);
    try {
      const dialect = new Dialect(schema);
      const confinement = await prepareSchema(pool, given, dialect);
      if (given.durability === 'require') await requireDurability(pool, dialect);
      const database = new Database({ pool, timeoutMs: context.timeoutMs, sessions, dialect, ...confinement });
      return await assemble(context, pool, given, database, sessions);
    } catch (error) {
      await pool.end();
      throw error;
    }
  } catch (error) {
    throw translateRead(error);
  }
}

/** Opens a store by URL, for `open('postgres://…')`. */
export function openUrl(url: string, options: Omit<PostgresOptions, 'url'>): Promise<Store> {
  return postgresStore({ ...options, url });
}

async function prepareSchema(pool: pg.Pool, options: PostgresOptions, dialect: Dialect): Promise<Confinement> {
  const client = await pool.connect();
  try {
    if (options.migrate === false) await checkMigrated(client, options);
    else await migrate(client, options);
    const confinement = await confinementOf(client, dialect);
    await beginEpoch(client, dialect, confinement);
    return confinement;
  } finally {
    client.release();
  }
}

async function assemble(
  context: StoreContext,
  pool: pg.Pool,
  options: PostgresOptions,
  database: Database,
  sessions: boolean,
): Promise<Store> {
  const { dialect } = database;
  const notifications = new Notifications(pool, options.listenUrl ?? (sessions ? options.url : null), dialect.schema);
  const signals = {
    wait: (topic: string, call: EngineCall) => notifications.wait(topic, call),
    notify: (topic: string) => notifications.notify(topic),
  };
  const records = sqlRecords(database, signals);
  const runs = new PostgresRuns(context, database, notifications, records);
  const agents = sqlAgents(database, signals);
  const artifacts = sqlArtifacts(database);
  const cleaner = sqlCleaner({ records, agents, artifacts, runs }, context.clock);
  let durability: Durability = await durabilityOf(pool, dialect);
  const { rows } = await pool.query('SHOW server_version');
  return assembleStore(context, {
    backend: 'postgres',
    version: rows[0].server_version,
    can: SQL_ABILITIES,
    durability: () => durability,
    runs,
    kv: records,
    agents,
    artifacts,
    tenancy: sqlTenancy(database, runs, records),
    ping: async () => void (await pool.query('SELECT 1')),
    doctor: async () => {
      durability = await durabilityOf(pool, dialect);
      return { durability, findings: await examine(pool, dialect) };
    },
    examineStorage: () => checkIndexes(pool, dialect),
    close: async () => {
      await cleaner.stop();
      await runs.drain();
      await notifications.close();
      await pool.end();
    },
  });
}

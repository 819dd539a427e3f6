/** The PostgreSQL store: all domains on one schema. */
import { type Durability, invalidArgument, type Store } from '@tidemark/core';
import {
  assembleStore,
  type ChainFormat,
  ChainMarker,
  type EngineCall,
  StoreContext,
  withUrlOptions,
} from '@tidemark/core/engine';
import { SQL_ABILITIES, sqlAgents, sqlArtifacts, sqlCleaner, sqlRecords, sqlTenancy } from '@tidemark/sql';
import type pg from 'pg';
import { Database } from './database.ts';
import { examine } from './doctor.ts';
import { durabilityOf, requireDurability } from './doctor-durability.ts';
import { checkIndexes } from './doctor-indexes.ts';
import { beginEpoch } from './epochs.ts';
import { translateRead } from './errors.ts';
import type { MigrationState } from './migration-plan.ts';
import { checkMigrated, migrate, migrationStates, raiseMarker, readMarker } from './migrations.ts';
import { Notifications } from './notifications.ts';
import { checkSchema, DEFAULT_SCHEMA, type PostgresOptions, URL_OPTIONS } from './options.ts';
import { placedStore } from './placement/placed-store.ts';
import type { OpenServer } from './placement/servers.ts';
import { connectPool } from './pool.ts';
import { type Confinement, confinementOf } from './roles.ts';
import { PostgresRuns } from './runs.ts';
import { GroupedRecords } from './shared-records.ts';
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
  if (given.servers === undefined) return (await openServer(given)).store;
  return placedStore(given, openServer);
}

/** Opens one server. */
async function openServer(given: PostgresOptions): Promise<OpenServer> {
  if (typeof given.url !== 'string') throw invalidArgument('url', 'a URL such as postgres://localhost/app', given.url);
  const schema = checkSchema(given.schema ?? DEFAULT_SCHEMA);
  const context = new StoreContext(given);
  try {
    const { pool, sessions } = await connectPool(given, context.timeoutMs);
    try {
      const dialect = new Dialect(schema);
      const { confinement, format } = await prepareSchema(pool, given, dialect);
      if (given.durability === 'require') await requireDurability(pool, dialect);
      const database = new Database({ pool, timeoutMs: context.timeoutMs, sessions, dialect, ...confinement });
      const marker = new ChainMarker(format, () => readMarker(pool, dialect));
      return await assemble(context, pool, given, database, sessions, marker);
    } catch (error) {
      await pool.end();
      throw error;
    }
  } catch (error) {
    throw translateRead(error);
  }
}

/**
 * Opens a store by URL, for `open('postgres://…')`.
 *
 * @example
 * import { openUrl } from '@tidemark/postgres';
 *
 * const store = await openUrl('postgres://localhost/app', {});
 */
export function openUrl(url: string, options: Omit<PostgresOptions, 'url'>): Promise<Store> {
  return postgresStore({ ...options, url });
}

/**
 * Returns the migrations of a schema with the time at which each was applied, without changing anything.
 *
 * @throws `INVALID_ARGUMENT` for an option it cannot use, `UNAVAILABLE` when the server cannot be reached.
 */
export async function migrationStatus(options: PostgresOptions): Promise<MigrationState[]> {
  const given = withUrlOptions(options, URL_OPTIONS);
  const context = new StoreContext(given);
  try {
    const { pool } = await connectPool({ ...given, maxConnections: 1 }, context.timeoutMs);
    try {
      const client = await pool.connect();
      try {
        return await migrationStates(client, given);
      } finally {
        client.release();
      }
    } finally {
      await pool.end();
    }
  } catch (error) {
    throw translateRead(error);
  }
}

interface Prepared {
  confinement: Confinement;
  format: ChainFormat;
}

async function prepareSchema(pool: pg.Pool, options: PostgresOptions, dialect: Dialect): Promise<Prepared> {
  const client = await pool.connect();
  try {
    if (options.migrate === false) await checkMigrated(client, options);
    else await migrate(client, options);
    if (options.upgrade) await raiseMarker(client, dialect);
    const confinement = await confinementOf(client, dialect);
    await beginEpoch(client, dialect, confinement);
    return { confinement, format: await readMarker(client, dialect) };
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
  marker: ChainMarker,
): Promise<OpenServer> {
  const { dialect } = database;
  const notifications = new Notifications(pool, options.listenUrl ?? (sessions ? options.url : null), dialect.schema);
  const signals = {
    wait: (topic: string, call: EngineCall) => notifications.wait(topic, call),
    notify: (topic: string) => notifications.notify(topic),
  };
  let shared: GroupedRecords | undefined;
  const records = sqlRecords(database, signals, (alone) => {
    shared = new GroupedRecords(database, alone);
    return shared;
  });
  const runs = new PostgresRuns(context, database, notifications, records, marker);
  const agents = sqlAgents(database, signals);
  const artifacts = sqlArtifacts(database);
  const cleaner = sqlCleaner({ records, agents, artifacts, runs }, context);
  let durability: Durability = await durabilityOf(pool, dialect);
  const { rows } = await pool.query('SHOW server_version');
  const store = assembleStore(context, {
    backend: 'postgres',
    version: rows[0].server_version,
    clock: 'server',
    can: { ...SQL_ABILITIES, 'runs.listByUpdate': options.updateIndex === true },
    durability: () => durability,
    chainFormat: marker.current,
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
      await shared?.drain();
      await notifications.close();
      await pool.end();
    },
  });
  return { store, runs, pool, dialect };
}

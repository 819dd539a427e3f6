/** The SQLite store: one file, durable by default. */
import { resolve } from 'node:path';
import { type DoctorFinding, invalidArgument, type Store, type StoreOptions, TidemarkError } from '@tidemark/core';
import { assembleStore, type EngineCall, SteadyClock, StoreContext } from '@tidemark/core/engine';
import { SQL_ABILITIES, sqlAgents, sqlArtifacts, sqlCleaner, sqlRecords, sqlTenancy } from '@tidemark/sql';
import { artifactsDirectory, backupFile } from './backup.ts';
import { directoryBlobs } from './blobs.ts';
import { Database } from './database.ts';
import { durabilityOf, examine } from './doctor.ts';
import { checkIntegrity } from './integrity.ts';
import { SqliteRuns } from './runs.ts';
import { SharedClock } from './shared-clock.ts';

/** Options of `sqliteStore`. */
export interface SqliteOptions extends StoreOptions {
  /** The file. Created, with its directories, if it does not exist. */
  path: string;
  /**
   * `require` makes opening fail with `DURABILITY_TOO_WEAK` when an acknowledged write would not survive a power
   * failure. By default the store opens anyway; `doctor` reports the weakness.
   */
  durability?: 'require';
}

/** A store in a SQLite file that can be backed up while it is in use. */
export interface SqliteStore extends Store {
  /** Copies the store to the new file `to` as a consistent snapshot, while writers continue. */
  backup(to: string): Promise<void>;
}

/**
 * Opens a store in a SQLite file, creating it if needed. Several processes may have the same file open.
 *
 * @throws `INVALID_ARGUMENT` for an empty path or `:memory:`, `SCHEMA_MISMATCH` for a file of a newer version,
 * `DURABILITY_TOO_WEAK` under `durability: 'require'`.
 * @example
 * ```ts
 * const store = await sqliteStore('app.db');
 * await store.runs.handle('order-42').append('RunStarted');
 * await store.close();
 * ```
 */
export async function sqliteStore(options: string | SqliteOptions): Promise<SqliteStore> {
  const given = typeof options === 'string' ? { path: options } : options;
  if (typeof given.path !== 'string' || given.path === '' || given.path === ':memory:') {
    throw invalidArgument('path', 'the name of a file; use memory: for a store without one', given.path);
  }
  const path = resolve(given.path);
  const clock = new SteadyClock(given);
  const context = new StoreContext({ ...given, clock: clock.now });
  const call = { deadline: Date.now() + context.timeoutMs };
  const database = await Database.open(path, context, call, given.upgrade);
  try {
    if (given.durability === 'require') requireDurability(path, database);
    const shared = new SharedClock(database, clock);
    await shared.share(call);
    return assemble(path, context, database, shared);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function assemble(path: string, context: StoreContext, database: Database, shared: SharedClock): SqliteStore {
  const signals = {
    wait: (topic: string, call: EngineCall) => database.wait(topic, call),
    notify: (topic: string) => database.signals.notify(topic),
  };
  // Determined once, so that a closed store can still report it.
  const durability = durabilityOf(path, database.writer);
  const records = sqlRecords(database, signals);
  const runs = new SqliteRuns(context, database, records);
  const agents = sqlAgents(database, signals);
  const blobs = directoryBlobs(artifactsDirectory(path));
  const artifacts = sqlArtifacts(database, blobs);
  const followClock = async (call: EngineCall) => {
    await shared.share(call);
    return 0;
  };
  const cleaner = sqlCleaner({ records, agents, artifacts, runs }, context, [followClock]);
  const store = assembleStore(context, {
    backend: 'sqlite',
    version: database.reader.get<{ version: string }>('SELECT sqlite_version() AS version')!.version,
    clock: 'process',
    can: { ...SQL_ABILITIES, 'runs.listByUpdate': true },
    durability: () => durability,
    chainFormat: () => runs.chainFormat,
    runs,
    kv: records,
    agents,
    artifacts,
    tenancy: sqlTenancy(database, runs, records, blobs),
    ping: (call) => database.reading(call, (connection) => void connection.get('SELECT 1')),
    doctor: async () => ({ durability: durabilityOf(path, database.writer), findings: examine(path, database.writer) }),
    examineStorage: async () => [await checkIntegrity(path)],
    close: async () => {
      await cleaner.stop();
      await database.close();
    },
  });
  return Object.assign(store, {
    backup: async (to: string) => {
      context.startCall(undefined);
      await backupFile(path, to);
    },
  });
}

function requireDurability(path: string, database: Database): void {
  const durability = durabilityOf(path, database.writer);
  if (durability === 'host-crash' || durability === 'node-loss') return;
  const reasons = examine(path, database.writer).filter((finding: DoctorFinding) => finding.status === 'fail');
  const why = reasons.map(({ message, fix }) => `${message} (${fix})`).join('; ');
  throw new TidemarkError('DURABILITY_TOO_WEAK', `${path} would not survive a power cut: ${why}`, {
    current: durability,
  });
}

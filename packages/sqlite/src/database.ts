/**
 * The file and its two connections: one writes, by group commit, and one reads. Several processes may have the same
 * file open. Waiting for another process's lock does not block this process.
 */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import { type EngineCall, GroupCommit, Signals, type StoreContext, sleep } from '@tidemark/core/engine';
import { NOW, type Revisions, type SqlRunDatabase, type SqlRunTransaction, type SqlValue } from '@tidemark/sql';
import { type Connection, openConnection } from './connection.ts';
import { isBusy, isIoError, translateError } from './errors.ts';
import { holdSingleProcessLock, makePrivateFile, type ProcessLock, syncDirectory } from './files.ts';
import { appliedMigrations, applyMigration, checkReadable, loadMigrations, raiseMarker } from './migrations.ts';

/** Work on the writing connection, inside a transaction that it shares with other work. */
export interface Operation {
  run(connection: Connection): unknown;
  /**
   * Whether the operation has more than one statement, and therefore needs a savepoint so that it can be undone if it
   * fails.
   */
  savepoint: boolean;
}

/** Called around each transaction, to keep caches consistent. */
export interface CommitListener {
  /** The write lock is held. `changed`: another connection has written since the last transaction. */
  begun(changed: boolean): void;
  /** Called before the commit, for final writes. */
  committing(connection: Connection): void;
  committed(): void;
  rolledBack(): void;
}

const POLL_MS = 50;
const MAX_TURN_MS = 1.5;
const FIRST_WAIT_MS = 1;
const MAX_WAIT_MS = 8;
/** How long after another process's write to assume that it wants to write again. */
const RIVAL_MS = 100;
/** The longest sleep that lets other processes write: about as long as a commit takes. */
const RIVAL_SLEEP_MS = 2;

export class Database implements SqlRunDatabase<OpenTransaction> {
  readonly path: string;
  readonly forUpdate = '';
  readonly json = '?';
  readonly revisions: Revisions = {
    next: `UPDATE @kv_revision SET revision = revision + 1 RETURNING revision, ${NOW} AS now`,
    latest: `SELECT revision, ${NOW} AS now FROM @kv_revision`,
    committedInOrder: true,
  };
  /** Notified at once by commits of this process, and within the poll interval by commits of other processes. */
  readonly signals = new Signals();
  readonly #context: StoreContext;
  readonly #group: GroupCommit<Operation, unknown>;
  readonly #listeners: CommitListener[] = [];
  #writer: Connection;
  #reader: Connection;
  #lock: ProcessLock | null = null;
  #dataVersion = -1;
  #polledVersion = -1;
  #rivalSeenAt = 0;
  #yieldedAt = 0;
  #poll: NodeJS.Timeout | undefined;

  private constructor(path: string, context: StoreContext, writer: Connection, reader: Connection) {
    this.path = path;
    this.#context = context;
    this.#writer = writer;
    this.#reader = reader;
    this.#group = new GroupCommit((take) => this.#commit(take));
  }

  /**
   * Opens or creates the file and brings its schema up to date. `upgrade` also raises its marker, as for a new file.
   */
  static async open(path: string, context: StoreContext, call: EngineCall, upgrade = false): Promise<Database> {
    const directory = dirname(path);
    const created = mkdirSync(directory, { recursive: true, mode: 0o700 });
    // Otherwise a power failure could remove a newly created directory, and the store with it.
    if (created !== undefined) syncDirectory(dirname(created));
    makePrivateFile(path);
    const lock = holdSingleProcessLock(path);
    try {
      // Each step may conflict with a process that is creating, recovering or closing the file.
      const writer = await retryWhileBusy(call, path, () => openConnection(path, { clock: context.clock }));
      await retryWhileBusy(call, path, () => writer.database.exec('PRAGMA journal_mode = WAL'));
      await migrate(writer, path, context, call, upgrade);
      const reader = await retryWhileBusy(call, path, () =>
        openConnection(path, { readOnly: true, clock: context.clock }),
      );
      const database = new Database(path, context, writer, reader);
      database.#lock = lock;
      return database;
    } catch (error) {
      lock?.release();
      throw translateError(error, path);
    }
  }

  get reader(): Connection {
    return this.#reader;
  }

  get writer(): Connection {
    return this.#writer;
  }

  listen(listener: CommitListener): void {
    this.#listeners.push(listener);
  }

  async read<Row>(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<Row[]> {
    return this.reading(call, (connection) => connection.all<Row>(nativeSql(sql), ...params));
  }

  readArrays(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<unknown[][]> {
    return this.reading(call, (connection) => connection.allArrays(nativeSql(sql), ...params));
  }

  async execute(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<number> {
    return this.submit({ savepoint: false, run: (connection) => connection.run(nativeSql(sql), ...params) }, call);
  }

  /** Runs a read on the reading connection. Readers do not wait for locks, except while a file is being recovered. */
  async reading<T>(call: EngineCall, read: (connection: Connection) => T): Promise<T> {
    await this.#yield();
    try {
      return read(this.#reader);
    } catch (error) {
      if (!isBusy(error)) throw translateError(error, this.path);
      return retryWhileBusy(call, this.path, () => read(this.#reader));
    }
  }

  /**
   * Reads are synchronous, and many in a row would block all other work, so this yields to the event loop from time to
   * time.
   */
  async #yield(): Promise<void> {
    if (performance.now() - this.#yieldedAt < MAX_TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#yieldedAt = performance.now();
  }

  write<T>(work: (tx: OpenTransaction) => Promise<T>, call: EngineCall): Promise<T> {
    return this.submit({ savepoint: true, run: (connection) => work(new OpenTransaction(connection)) }, call);
  }

  /** Adds the operation to the next commit. */
  submit<T>(operation: Operation, call: EngineCall): Promise<T> {
    return this.#group.submit(operation, call) as Promise<T>;
  }

  async #commit(take: () => readonly Operation[]): Promise<(unknown | Error)[]> {
    await this.#begin();
    let outcomes: (unknown | Error)[];
    try {
      outcomes = [];
      for (const operation of take()) {
        const outcome = operation.savepoint ? this.#runAlone(operation) : runPlain(this.#writer, operation);
        // Plain appends return synchronously, so that no other task runs inside their transaction.
        outcomes.push(outcome instanceof Promise ? await outcome : outcome);
      }
      for (const listener of this.#listeners) listener.committing(this.#writer);
    } catch (error) {
      this.#rollBack();
      throw translateError(error, this.path);
    }
    this.#finish();
    return outcomes.map((outcome) =>
      outcome instanceof Error ? (translateError(outcome, this.path) as Error) : outcome,
    );
  }

  async #begin(): Promise<void> {
    const call = { deadline: Date.now() + this.#context.timeoutMs };
    // The process that has just committed would be the first to begin again. Without this sleep, processes that wait
    // for the lock would starve.
    if (Date.now() - this.#rivalSeenAt < RIVAL_MS) await sleep(Math.random() * RIVAL_SLEEP_MS);
    await retryWhileBusy(call, this.path, () => this.#writer.run('BEGIN IMMEDIATE'));
    const version = this.#writer.dataVersion();
    const changed = version !== this.#dataVersion;
    if (changed && this.#dataVersion !== -1) this.#rivalSeenAt = Date.now();
    this.#dataVersion = version;
    for (const listener of this.#listeners) listener.begun(changed);
  }

  async #runAlone(operation: Operation): Promise<unknown> {
    const writer = this.#writer;
    writer.run('SAVEPOINT operation');
    try {
      const outcome = await operation.run(writer);
      writer.run('RELEASE operation');
      return outcome;
    } catch (error) {
      writer.run('ROLLBACK TO operation');
      writer.run('RELEASE operation');
      return error;
    }
  }

  #finish(): void {
    try {
      this.#writer.run('COMMIT');
    } catch (error) {
      this.#rollBack();
      if (!isIoError(error)) throw translateError(error, this.path);
      // After a failed sync, the state on disk is unknown and this connection's cache may be wrong.
      this.#reopen();
      throw new TidemarkError(
        'OUTCOME_UNKNOWN',
        `${this.path} could not be synced; retry the same write to find out its outcome`,
        {
          cause: error,
        },
      );
    }
    for (const listener of this.#listeners) listener.committed();
  }

  #rollBack(): void {
    for (const listener of this.#listeners) listener.rolledBack();
    this.#writer.rollBack();
  }

  #reopen(): void {
    this.#writer.close();
    this.#reader.close();
    this.#writer = openConnection(this.path, { clock: this.#context.clock });
    this.#reader = openConnection(this.path, { readOnly: true, clock: this.#context.clock });
    this.#dataVersion = -1;
    this.#polledVersion = -1;
  }

  /** Waits for a topic. Commits of this process notify it directly; one poll per process detects all others. */
  wait(topic: string, call: EngineCall): Promise<void> {
    this.#poll ??= setInterval(() => this.#look(), POLL_MS).unref();
    return this.signals.wait(topic, call);
  }

  #look(): void {
    if (!this.signals.awaited) {
      clearInterval(this.#poll);
      this.#poll = undefined;
      return;
    }
    let version: number;
    try {
      // The writer's version does not change with commits of this process, which notify only their own topics. With the
      // reader's version, every commit would wake all waiters of the process.
      version = this.#writer.dataVersion();
    } catch {
      // The next read reports the problem.
      return;
    }
    if (version === this.#polledVersion) return;
    this.#polledVersion = version;
    this.signals.notifyAll();
  }

  /** Completes all accepted work, then checkpoints and closes the file. */
  async close(): Promise<void> {
    await this.#group.drain();
    clearInterval(this.#poll);
    this.#reader.close();
    try {
      this.#writer.database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch (error) {
      // Another process is using the file; its checkpoints are enough.
      if (!isBusy(error)) throw translateError(error, this.path);
    } finally {
      this.#writer.close();
      this.#lock?.release();
    }
  }
}

export class OpenTransaction implements SqlRunTransaction {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async all<Row>(sql: string, params: readonly SqlValue[]): Promise<Row[]> {
    return this.#connection.all<Row>(nativeSql(sql), ...params);
  }

  async run(sql: string, params: readonly SqlValue[]): Promise<number> {
    return this.#connection.run(nativeSql(sql), ...params);
  }

  async arrays(sql: string, params: readonly SqlValue[]): Promise<unknown[][]> {
    return this.#connection.allArrays(nativeSql(sql), ...params);
  }

  /** The connection, for statements of this engine only. */
  get connection(): Connection {
    return this.#connection;
  }
}

function runPlain(connection: Connection, operation: Operation): unknown {
  try {
    return operation.run(connection);
  } catch (error) {
    if (isTidemarkError(error)) return error;
    throw error;
  }
}

const native = new Map<string, string>();

/** Translates shared SQL: SQLite names need no schema. */
export function nativeSql(sql: string): string {
  let text = native.get(sql);
  if (text === undefined) {
    text = sql.replaceAll(/@(?=[a-z_])/g, '');
    native.set(sql, text);
  }
  return text;
}

/** Retries with growing, random delays until no other process holds the lock, within the call's deadline. */
async function retryWhileBusy<T>(call: EngineCall, path: string, attempt: () => T): Promise<T> {
  let longest = FIRST_WAIT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw translateError(error, path);
      if (call.signal?.aborted || (call.deadline !== undefined && Date.now() >= call.deadline))
        throw translateError(error, path);
    }
    await sleep(Math.random() * longest);
    longest = Math.min(MAX_WAIT_MS, longest * 2);
  }
}

async function migrate(
  writer: Connection,
  path: string,
  context: StoreContext,
  call: EngineCall,
  upgrade: boolean,
): Promise<void> {
  const migrations = loadMigrations();
  const newest = migrations.at(-1)!.version;
  const isCurrent = (): boolean => {
    const applied = appliedMigrations(writer);
    checkReadable(applied, newest, path);
    return migrations.every(({ version }) => applied.some((it) => it.version === version));
  };
  let isNew = false;
  if (!(await retryWhileBusy(call, path, isCurrent))) {
    for (const migration of migrations) {
      await underLock(writer, path, call, () => {
        // Checked again under the lock: another process may have migrated first.
        const applied = appliedMigrations(writer);
        checkReadable(applied, newest, path);
        if (applied.length === 0) isNew = true;
        if (!applied.some(({ version }) => version === migration.version))
          applyMigration(writer, migration, context.clock());
      });
    }
  }
  // No older library can have the file open if this process created it.
  if (isNew || upgrade) await underLock(writer, path, call, () => raiseMarker(writer));
}

async function underLock(writer: Connection, path: string, call: EngineCall, work: () => void): Promise<void> {
  await retryWhileBusy(call, path, () => writer.database.exec('BEGIN IMMEDIATE'));
  try {
    work();
    writer.database.exec('COMMIT');
  } catch (error) {
    writer.rollBack();
    throw error;
  }
}

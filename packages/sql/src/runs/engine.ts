/**
 * The run engine that SQL engines share: heads, events, snapshots, removal and restore. Each engine adds its append and
 * feed.
 */
import {
  type DamagedHead,
  type EngineCall,
  encodeNotice,
  eventOfRow,
  type FeedEntry,
  type LogPage,
  noticeOfRemoval,
  outcomesOf,
  type QuarantineEngine,
  type RemoveRunOptions,
  type RestoredPart,
  type RunAppend,
  type RunEngine,
  type RunHead,
  type RunKey,
  type RunQuery,
  type RunTombstone,
  readLogPage,
  type SequencedEvent,
  type StoredRedaction,
  type StoredSnapshot,
  type UpdatedRunsQuery,
} from '@tidemark/core/engine';
import { NOW, type SqlTransaction } from '../database.ts';
import { sqlQuarantines } from '../quarantines.ts';
import type { SqlRunDatabase, SqlRunTransaction } from './database.ts';
import { byCreation, byUpdate, type LabelSql, type ListOrder, runListSql } from './list-sql.ts';
import { eventsParams, lockHead, SELECT_EVENTS, SELECT_HEAD, SELECT_TENANTS } from './reading.ts';
import { markRemoved, removeSomeEvents, SELECT_LEFTOVERS } from './removal.ts';
import { type RestoreDialect, SqlRestore } from './restore.ts';
import { HEAD_COLUMNS, headOf, headsOf } from './rows.ts';
import { SqlSnapshots } from './snapshots.ts';

/** The engine-specific parts of the shared run engine. */
export interface RunDialect<Tx extends SqlRunTransaction> extends RestoreDialect<Tx>, LabelSql {
  /** Number of heads that one statement of a list reads. */
  listStep: number;
  /** Number of events removed in one transaction. */
  removeStep: number;
  /** Takes the next release number inside a transaction. Numbers are in commit order. */
  takeReleaseNumber(tx: SqlTransaction): Promise<number>;
  /**
   * Redacts an event inside a transaction and counts it in the head. A second redaction of an event changes nothing.
   */
  redact(tx: Tx, run: RunKey, runSeq: number, redaction: StoredRedaction): Promise<RedactionOutcome>;
}

/** `changed`: this call removed the payload. `known`: it was already removed. `missing`: the event does not exist. */
export type RedactionOutcome = 'changed' | 'known' | 'missing';

type Head = RunHead | RunTombstone | null;

export abstract class SqlRuns<Tx extends SqlRunTransaction, Db extends SqlRunDatabase<Tx>> implements RunEngine {
  readonly quarantines: QuarantineEngine;
  protected readonly database: Db;
  readonly #dialect: RunDialect<Tx>;
  readonly #restore: SqlRestore<Tx>;
  readonly #snapshots: SqlSnapshots;
  readonly #clock: () => number;

  constructor(database: Db, dialect: RunDialect<Tx>, clock: () => number) {
    this.database = database;
    this.quarantines = sqlQuarantines(database, dialect.takeReleaseNumber);
    this.#dialect = dialect;
    this.#restore = new SqlRestore(dialect);
    this.#snapshots = new SqlSnapshots(database);
    this.#clock = clock;
  }

  append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(SequencedEvent[] | Error)[]> {
    if (call.transaction !== undefined) return this.appendInside(appends, call.transaction);
    return outcomesOf(appends, (append) =>
      append.life === 'new' ? this.#submitNewLife(append, call) : this.submit(append, call),
    );
  }

  /** Finishes an interrupted removal first, in small steps, so that the transaction that begins the life is short. */
  async #submitNewLife(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    await this.#removeEvents(append.run, call);
    return this.submit(append, call);
  }

  /** Appends to one run in a transaction of the store. */
  protected abstract submit(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]>;

  /** Appends in the caller's own transaction, together with the caller's own rows. The caller's commit decides. */
  protected abstract appendInside(
    appends: readonly RunAppend[],
    transaction: unknown,
  ): Promise<(SequencedEvent[] | Error)[]>;

  abstract feed(after: string | null, limit: number, call: EngineCall, notices?: boolean): Promise<FeedEntry[]>;
  abstract waitForEvents(run: RunKey | null, call: EngineCall): Promise<void>;

  /**
   * Called before a transaction reads the row of a head. An engine that defers writes of heads must write the newest
   * head now.
   */
  protected async settleHead(_tx: Tx, _run: RunKey): Promise<void> {}

  /** Called at the end of a transaction that changed the row of a head. */
  protected headChanged(_run: RunKey): void {}

  /** Called after a commit that changed a run other than by an append. */
  protected abstract announce(run: RunKey): void;

  /** Reads the head and locks it until the end of the transaction. */
  async #lockHead(tx: Tx, run: RunKey): Promise<Head> {
    await this.settleHead(tx, run);
    return lockHead(tx, this.database, run);
  }

  fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage> {
    const read = async (after: number, count: number) => {
      const params = eventsParams(run, after, count);
      const rows = await this.database.readArrays(SELECT_EVENTS, params, call, run.tenantId);
      return rows.map((row) => eventOfRow(row));
    };
    return readLogPage(read, afterSeq, limit);
  }

  async now(tenantId: string, call: EngineCall): Promise<number> {
    const [row] = await this.database.readArrays(`SELECT ${NOW}`, [], call, tenantId);
    return Number(row![0]);
  }

  async head({ runId, tenantId }: RunKey, call: EngineCall): Promise<Head> {
    const [row] = await this.database.readArrays(SELECT_HEAD, [runId, tenantId], call, tenantId);
    return row ? headOf(row) : null;
  }

  async tenantsOf(runId: string, call: EngineCall): Promise<string[]> {
    return (await this.database.readArrays(SELECT_TENANTS, [runId], call)).map(([tenantId]) => tenantId as string);
  }

  list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]> {
    return this.#list(query, byCreation(query), call, onDamaged);
  }

  listByUpdate(query: UpdatedRunsQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]> {
    return this.#list(query, byUpdate(query), call, onDamaged);
  }

  /** Reads in steps, because one long page would block the process. */
  async #list(
    query: Omit<RunQuery, 'after'>,
    { column, after: start }: ListOrder,
    call: EngineCall,
    onDamaged?: (head: DamagedHead) => void,
  ): Promise<RunHead[]> {
    const heads: RunHead[] = [];
    for (let after = start; ; ) {
      const limit = Math.min(this.#dialect.listStep, query.limit - heads.length);
      const { sql, params } = runListSql({ ...query, limit }, { column, after }, this.#dialect);
      const rows = await this.database.readArrays(sql, params, call, query.tenantId);
      heads.push(...headsOf(rows, onDamaged));
      const last = rows.at(-1);
      if (!last || rows.length < limit || heads.length >= query.limit) return heads;
      after = listPosition(last, column);
    }
  }

  loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null> {
    return this.#snapshots.load(run, call);
  }

  saveSnapshot(
    run: RunKey,
    snapshot: StoredSnapshot & { status: string },
    call: EngineCall,
    over?: StoredSnapshot | null,
  ): Promise<boolean> {
    return this.#snapshots.save(run, snapshot, call, over);
  }

  dropSnapshot(run: RunKey, upToRewrites: number, call: EngineCall): Promise<void> {
    return this.#snapshots.drop(run, upToRewrites, call);
  }

  async remove(run: RunKey, tombstone: RunTombstone, call: RemoveRunOptions): Promise<boolean> {
    const mark = async (tx: Tx) => {
      const isThere = await markRemoved(tx, run, await this.#lockHead(tx, run), tombstone, call);
      if (isThere) await this.#dialect.addNotice(tx, run, encodeNotice(noticeOfRemoval(tombstone)));
      this.headChanged(run);
      return isThere;
    };
    const marked = await this.database.write(mark, call, run.tenantId);
    if (marked) this.announce(run);
    await this.#removeEvents(run, call);
    return marked;
  }

  async #removeEvents(run: RunKey, call: EngineCall): Promise<void> {
    const step = (tx: SqlTransaction) => removeSomeEvents(tx, run, this.#dialect.removeStep);
    while (await this.database.write(step, call, run.tenantId));
  }

  /** Finishes removals of runs that a crash interrupted. */
  async removeLeftovers(call: EngineCall): Promise<void> {
    for (const [tenantId, runId] of await this.database.readArrays(SELECT_LEFTOVERS, [], call))
      await this.#removeEvents({ tenantId: tenantId as string, runId: runId as string }, call);
  }

  async restore(run: RunKey, part: RestoredPart, call: EngineCall & { overDeleted?: boolean }): Promise<void> {
    const { overDeleted } = call;
    const write = async (tx: Tx) => {
      const head = await this.#lockHead(tx, run);
      const outcome = await this.#restore.write(tx, run, part, head, { now: this.#clock(), overDeleted });
      if (outcome === 'written') this.headChanged(run);
      return outcome;
    };
    for (;;) {
      const outcome = await this.database.write(write, call, run.tenantId);
      if (outcome === 'leftovers') await this.#removeEvents(run, call);
      else if (outcome !== 'raced') break;
    }
    if (part.isLast) this.announce(run);
  }

  async redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean> {
    const redact = async (tx: Tx) => {
      await this.settleHead(tx, run);
      const { life } = (await this.#lockHead(tx, run)) ?? {};
      const outcome = await this.#dialect.redact(tx, run, runSeq, redaction);
      if (outcome !== 'changed') return outcome;
      await this.#dialect.addNotice(tx, run, encodeNotice({ kind: 'redacted', runSeq, life }));
      this.headChanged(run);
      return outcome;
    };
    const outcome = await this.database.write(redact, call, run.tenantId);
    if (outcome === 'changed') this.announce(run);
    return outcome !== 'missing';
  }
}

/** The position from which a list continues after a row, even if its head cannot be decoded. */
function listPosition(row: readonly unknown[], order: ListOrder['column']): NonNullable<ListOrder['after']> {
  const at = (column: (typeof HEAD_COLUMNS)[number]) => row[HEAD_COLUMNS.indexOf(column)];
  return { at: at(order) as number, tenantId: at('tenant_id') as string, runId: at('run_id') as string };
}

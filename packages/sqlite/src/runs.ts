/** The run engine on SQLite: writers take turns inside the group commit, so the head they see is the head. */
import {
  type Alongside,
  type AppendPlan,
  checkRemoval,
  type DamagedHead,
  decodeCursor,
  digestOf,
  type EngineCall,
  encodeCursor,
  type FeedEntry,
  FIRST_LINK,
  isTombstone,
  type LogPage,
  type PlacedEvent,
  planAppend,
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
  type StoreContext,
  type StoredRedaction,
  type StoredRunEvent,
  type StoredSnapshot,
} from '@tidemark/core/engine';
import {
  EVENT_COLUMNS,
  eventOf,
  HEAD_COLUMNS,
  headOf,
  headsOf,
  runListSql,
  type SqlRecords,
  type SqlTransaction,
  sqlQuarantines,
  valuesOfEvent,
  valuesOfHead,
} from '@tidemark/sql';
import { type Connection, connectionOf } from './connection.ts';
import { type CommitListener, type Database, nativeSql, OpenTransaction } from './database.ts';
import { translateError } from './errors.ts';
import { redactInside } from './redaction.ts';
import { INSERT_EVENT, type RestoreOutcome, writePart } from './run-restore.ts';

const MAX_CACHED_HEADS = 50_000;
const LIST_SLICE = 200;
/** Events removed in one transaction, so that other writers never wait long. */
const REMOVE_STEP = 500;
const NOTHING_STORED: ReadonlyMap<string, StoredRunEvent> = new Map();

type Head = RunHead | RunTombstone | null;

export class SqliteRuns implements RunEngine, CommitListener {
  readonly quarantines: QuarantineEngine;
  readonly #context: StoreContext;
  readonly #database: Database;
  readonly #records: SqlRecords;
  /** Heads as the file has them; good until another connection writes. */
  readonly #heads = new Map<string, RunHead>();
  /** Heads this transaction has moved, written once each before the commit. */
  readonly #moved = new Map<string, RunHead>();

  constructor(context: StoreContext, database: Database, records: SqlRecords) {
    this.#context = context;
    this.#database = database;
    this.#records = records;
    this.quarantines = sqlQuarantines(database, takeReleaseNumber);
    database.listen(this);
  }

  begun(changed: boolean): void {
    if (changed) this.#heads.clear();
  }

  committing(connection: Connection): void {
    for (const head of this.#moved.values()) connection.run(UPSERT_HEAD, ...valuesOfHead(head));
  }

  committed(): void {
    for (const [key, head] of this.#moved) {
      this.#heads.delete(key);
      this.#heads.set(key, head);
      this.#database.signals.notify(topicOf(head));
    }
    if (this.#moved.size > 0) this.#database.signals.notify(ANY_RUN);
    this.#moved.clear();
    for (const key of this.#heads.keys()) {
      if (this.#heads.size <= MAX_CACHED_HEADS) break;
      this.#heads.delete(key);
    }
  }

  rolledBack(): void {
    this.#moved.clear();
    this.#heads.clear();
  }

  append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(PlacedEvent[] | Error)[]> {
    if (call.transaction !== undefined) return this.#appendInside(appends, call.transaction);
    return Promise.all(appends.map((append) => this.#submit(append, call).catch((error: Error) => error)));
  }

  #submit(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    if (append.alongside) return this.#appendWith(append, append.alongside, call);
    const run = (connection: Connection) => {
      const plan = this.#write(connection, append);
      this.#move(append.run, plan);
      return plan.placed;
    };
    return this.#database.submit({ savepoint: append.events.length > 1, run }, call);
  }

  async #appendWith(append: RunAppend, alongside: Alongside, call: EngineCall): Promise<PlacedEvent[]> {
    let report: (() => void) | undefined;
    const run = async (connection: Connection) => {
      const plan = this.#write(connection, append);
      if (plan.rows.length === 0) return plan.placed;
      const read = (afterSeq: number, limit: number) => readEvents(connection, append.run, afterSeq, limit);
      const log = { rewrites: plan.head.rewrites, read };
      report = await this.#records.changeInside(new OpenTransaction(connection), alongside.names, (found) =>
        alongside.writes(plan.placed, found, log),
      );
      // Last: had the steps failed, the savepoint would have taken the events back and the head would stand.
      this.#move(append.run, plan);
      return plan.placed;
    };
    const placed = await this.#database.submit<PlacedEvent[]>({ savepoint: true, run }, call);
    report?.();
    return placed;
  }

  #write(connection: Connection, append: RunAppend): AppendPlan {
    const key = keyOf(append.run);
    const head: Head = this.#moved.get(key) ?? this.#heads.get(key) ?? readHead(connection, append.run);
    return writeAppend(connection, append, head, this.#context.clock());
  }

  #move(run: RunKey, { rows, head }: AppendPlan): void {
    if (rows.length > 0) this.#moved.set(keyOf(run), head);
  }

  /** Writes with the caller's own rows, on the caller's own handle: its commit decides. */
  async #appendInside(appends: readonly RunAppend[], transaction: unknown): Promise<(PlacedEvent[] | Error)[]> {
    const connection = connectionOf(transaction);
    try {
      return appends.map((append) => {
        const plan = writeAppend(connection, append, readHead(connection, append.run), this.#context.clock());
        if (plan.rows.length > 0) connection.run(UPSERT_HEAD, ...valuesOfHead(plan.head));
        return plan.placed;
      });
    } catch (error) {
      throw translateError(error, this.#database.path);
    }
  }

  async fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage> {
    const read = (after: number, count: number) =>
      this.#database.reading(call, (connection) => readEvents(connection, run, after, count));
    return readLogPage(read, afterSeq, limit);
  }

  head(run: RunKey, call: EngineCall): Promise<Head> {
    return this.#database.reading(call, (connection) => readHead(connection, run));
  }

  async tenantsOf(runId: string, call: EngineCall): Promise<string[]> {
    const rows = await this.#database.reading(call, (connection) =>
      connection.all<{ tenant_id: string }>(SELECT_TENANTS, runId),
    );
    return rows.map((row) => row.tenant_id);
  }

  /** Read in slices: one statement for a long page would keep the event loop for ten milliseconds and more. */
  async list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]> {
    const heads: RunHead[] = [];
    for (let { after } = query; ; ) {
      const limit = Math.min(LIST_SLICE, query.limit - heads.length);
      const { sql, params } = runListSql({ ...query, after, limit }, HAS_LABEL);
      const rows = await this.#database.reading(call, (connection) => connection.allArrays(nativeSql(sql), ...params));
      heads.push(...headsOf(rows, onDamaged));
      const last = rows.at(-1);
      if (!last || rows.length < limit || heads.length >= query.limit) return heads;
      after = placeOf(last);
    }
  }

  async loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null> {
    const row = await this.#database.reading(call, (connection) =>
      connection.get<StoredSnapshot & Record<string, string | number>>(SELECT_SNAPSHOT, run.runId, run.tenantId),
    );
    return row ?? null;
  }

  async saveSnapshot(run: RunKey, snapshot: StoredSnapshot & { status: string }, call: EngineCall): Promise<void> {
    const params = [
      run.tenantId,
      run.runId,
      snapshot.status,
      snapshot.lastEventSeq,
      snapshot.rewrites,
      snapshot.body,
      this.#context.clock(),
    ];
    await this.#database.submit(
      { savepoint: false, run: (connection) => connection.run(UPSERT_SNAPSHOT, ...params) },
      call,
    );
  }

  async dropSnapshot(run: RunKey, upToRewrites: number, call: EngineCall): Promise<void> {
    const drop = (connection: Connection) => connection.run(DROP_SNAPSHOT, run.runId, run.tenantId, upToRewrites);
    await this.#database.submit({ savepoint: false, run: drop }, call);
  }

  async remove(run: RunKey, tombstone: RunTombstone, call: RemoveRunOptions): Promise<boolean> {
    const marked = await this.#database.submit<boolean>(
      { savepoint: true, run: (connection) => this.#mark(connection, run, tombstone, call) },
      call,
    );
    await this.removeLeftovers(call, run);
    return marked;
  }

  /** From here on the run is gone for readers and writers; what is left of it goes in small steps. */
  #mark(connection: Connection, run: RunKey, tombstone: RunTombstone, options: RemoveRunOptions): boolean {
    const key = keyOf(run);
    const moved = this.#moved.get(key);
    const isThere = checkRemoval(run, moved ?? readHead(connection, run), tombstone, options);
    if (moved) connection.run(UPSERT_HEAD, ...valuesOfHead(moved));
    this.#moved.delete(key);
    this.#heads.delete(key);
    connection.run('DELETE FROM run_snapshots WHERE run_id = ? AND tenant_id = ?', run.runId, run.tenantId);
    connection.run(DELETE_QUARANTINE, run.runId, run.tenantId);
    if (isThere) connection.run(MARK_REMOVED, JSON.stringify(tombstone), run.runId, run.tenantId);
    return isThere;
  }

  async restore(run: RunKey, part: RestoredPart, call: EngineCall & { overDeleted?: boolean }): Promise<void> {
    const step = (connection: Connection) => this.#restore(connection, run, part, call.overDeleted);
    while ((await this.#database.submit<RestoreOutcome>({ savepoint: true, run: step }, call)) === 'leftovers')
      await this.removeLeftovers(call, run);
  }

  #restore(connection: Connection, run: RunKey, part: RestoredPart, overDeleted: boolean | undefined): RestoreOutcome {
    const key = keyOf(run);
    const head = this.#moved.get(key) ?? readHead(connection, run);
    const outcome = writePart(connection, run, part, head, { now: this.#context.clock(), overDeleted });
    if (outcome === 'written') this.#heads.delete(key);
    if (outcome === 'written' && part.isLast) connection.run(DELETE_QUARANTINE, run.runId, run.tenantId);
    if (outcome === 'written' && part.isLast) this.#moved.set(key, readHead(connection, run) as RunHead);
    return outcome;
  }

  /** Removes the events of removed runs step by step; also finishes what a crash interrupted. */
  async removeLeftovers(call: EngineCall, only?: RunKey): Promise<void> {
    const runs = only
      ? [only]
      : await this.#database.reading(call, (connection) =>
          connection.all<{ tenantId: string; runId: string }>(SELECT_LEFTOVERS),
        );
    for (const { runId, tenantId } of runs) {
      const step = (connection: Connection) => connection.run(DELETE_EVENTS, runId, tenantId, REMOVE_STEP);
      while ((await this.#database.submit<number>({ savepoint: false, run: step }, call)) === REMOVE_STEP);
    }
  }

  redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean> {
    return this.#database.write(async (tx) => {
      const outcome = await redactInside(tx, run, runSeq, redaction);
      if (outcome === 'changed') this.#countRewrite(run);
      return outcome !== 'missing';
    }, call);
  }

  /** Brings the head this transaction has moved up to the row that has just changed; any other is read again. */
  #countRewrite(run: RunKey): void {
    const key = keyOf(run);
    const moved = this.#moved.get(key);
    if (moved) this.#moved.set(key, { ...moved, rewrites: moved.rewrites + 1 });
    this.#heads.delete(key);
  }

  async feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]> {
    const isPosition = (values: unknown[]) =>
      values.length === 1 && Number.isSafeInteger(values[0]) && (values[0] as number) >= 0;
    const position = after === null ? 0 : decodeCursor<[number]>(after, isPosition)[0];
    return this.#database.reading(call, (connection) =>
      connection.allArrays(SELECT_FEED, position, limit).map((row) => {
        const [at, tenantId, runId, linkBefore, ...event] = row as [
          number,
          string,
          string,
          Uint8Array | null,
          ...unknown[],
        ];
        return {
          cursor: encodeCursor([at]),
          run: { tenantId, runId },
          linkBefore: linkBefore ? digestOf(linkBefore) : FIRST_LINK,
          event: eventOf(event),
        };
      }),
    );
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#database.wait(run ? topicOf(run) : ANY_RUN, call);
  }
}

const ANY_RUN = 'runs';

/** Where a list goes on after a row, whether or not its head can be decoded. */
function placeOf(row: readonly unknown[]): NonNullable<RunQuery['after']> {
  const at = (column: (typeof HEAD_COLUMNS)[number]) => row[HEAD_COLUMNS.indexOf(column)];
  return { createdAt: at('created_at') as number, tenantId: at('tenant_id') as string, runId: at('run_id') as string };
}

/** There is one writer at a time. */
async function takeReleaseNumber(tx: SqlTransaction): Promise<number> {
  const [row] = await tx.all<{ last: number }>('UPDATE @run_releases SET last = last + 1 RETURNING last', []);
  return row!.last;
}

function topicOf(run: RunKey): string {
  return `run\0${keyOf(run)}`;
}

function keyOf(run: RunKey): string {
  return `${run.tenantId}\0${run.runId}`;
}

/**
 * Writes an append against a head that cannot move meanwhile. A lone event is inserted on the chance that its key
 * is new, which it nearly always is; only when the insert gives way is the stored one looked up.
 */
function writeAppend(connection: Connection, append: RunAppend, head: Head, now: number): AppendPlan {
  if (append.events.length === 1) {
    const plan = planOrNull(append, head, now);
    if (
      plan &&
      connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...valuesOfEvent(plan.rows[0]!)) === 1
    )
      return plan;
  }
  const plan = planAppend(append, head, readStored(connection, append, head), now);
  for (const row of plan.rows) {
    if (connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...valuesOfEvent(row)) !== 1) {
      throw new Error(
        `Key ${row.idempotencyKey} or sequence ${row.runSeq} of run ${append.run.runId} was taken while the run was locked`,
      );
    }
  }
  return plan;
}

/** The plan as if the key were new; a refusal must wait until it is known that it is. */
function planOrNull(append: RunAppend, head: Head, now: number): AppendPlan | null {
  try {
    return planAppend(append, head, NOTHING_STORED, now);
  } catch {
    return null;
  }
}

function readStored(connection: Connection, append: RunAppend, head: Head): ReadonlyMap<string, StoredRunEvent> {
  if (head === null || isTombstone(head)) return NOTHING_STORED;
  const keys = JSON.stringify(append.events.map((event) => event.idempotencyKey));
  const rows = connection.allArrays(SELECT_BY_KEYS, append.run.runId, append.run.tenantId, keys);
  return new Map(rows.map((row) => eventOf(row)).map((event) => [event.idempotencyKey, event]));
}

function readEvents(connection: Connection, run: RunKey, afterSeq: number, limit: number): StoredRunEvent[] {
  return connection.allArrays(SELECT_EVENTS, run.runId, run.tenantId, afterSeq, limit).map((row) => eventOf(row));
}

function readHead(connection: Connection, run: RunKey): Head {
  const [row] = connection.allArrays(SELECT_HEAD, run.runId, run.tenantId);
  return row ? headOf(row) : null;
}

const UPSERT_HEAD = `
  INSERT INTO runs (${HEAD_COLUMNS.join(', ')}) VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_seq = excluded.last_seq, link = excluded.link, updated_at = excluded.updated_at`;

const HAS_LABEL = 'EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)';

const SELECT_HEAD = `SELECT ${HEAD_COLUMNS.join(', ')} FROM runs WHERE run_id = ? AND tenant_id = ?`;

const SELECT_EVENTS = `
  SELECT ${EVENT_COLUMNS.join(', ')} FROM run_events
  WHERE run_id = ?1 AND tenant_id = ?2 AND run_seq > ?3
    AND NOT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND tenant_id = ?2 AND removed IS NOT NULL)
  ORDER BY run_seq LIMIT ?4`;

const SELECT_BY_KEYS = `
  SELECT ${EVENT_COLUMNS.join(', ')} FROM run_events
  WHERE run_id = ? AND tenant_id = ? AND idempotency_key IN (SELECT value FROM json_each(?))`;

const SELECT_TENANTS = `
  SELECT tenant_id FROM runs
  WHERE run_id = ? AND (removed IS NULL OR json_extract(removed, '$.kind') <> 'deleted') LIMIT 2`;

const SELECT_SNAPSHOT = `
  SELECT last_event_seq AS lastEventSeq, rewrites, snapshot_data AS body FROM run_snapshots
  WHERE run_id = ? AND tenant_id = ?`;

/** An older snapshot never overwrites a newer one (RUN-13), and none is stored of a run that was removed or rewritten since. */
const UPSERT_SNAPSHOT = `
  INSERT INTO run_snapshots (tenant_id, run_id, status, last_event_seq, rewrites, snapshot_data, projected_at)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
  WHERE NOT EXISTS (
    SELECT 1 FROM runs WHERE run_id = ?2 AND tenant_id = ?1 AND (removed IS NOT NULL OR rewrites <> ?5))
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_event_seq = excluded.last_event_seq, rewrites = excluded.rewrites,
      snapshot_data = excluded.snapshot_data, projected_at = excluded.projected_at
  WHERE (excluded.rewrites, excluded.last_event_seq) >= (run_snapshots.rewrites, run_snapshots.last_event_seq)`;

const DROP_SNAPSHOT = 'DELETE FROM run_snapshots WHERE run_id = ? AND tenant_id = ? AND rewrites <= ?';

const DELETE_QUARANTINE = 'DELETE FROM run_quarantines WHERE run_id = ? AND tenant_id = ?';

const MARK_REMOVED = 'UPDATE runs SET removed = ? WHERE run_id = ? AND tenant_id = ?';

/** What is being restored is no leftover. */
const IS_GONE = "removed IS NOT NULL AND json_extract(removed, '$.kind') <> 'restoring'";

const SELECT_LEFTOVERS = `
  SELECT tenant_id AS tenantId, run_id AS runId FROM runs r
  WHERE ${IS_GONE}
    AND EXISTS (SELECT 1 FROM run_events e WHERE e.run_id = r.run_id AND e.tenant_id = r.tenant_id)`;

const DELETE_EVENTS = `
  DELETE FROM run_events WHERE position IN (
    SELECT position FROM run_events WHERE run_id = ?1 AND tenant_id = ?2 ORDER BY run_seq DESC LIMIT ?3)
  AND EXISTS (SELECT 1 FROM runs WHERE run_id = ?1 AND tenant_id = ?2 AND ${IS_GONE})`;

/** In the order of commits, each with the link before its own commit. */
const SELECT_FEED = `
  SELECT e.position, e.tenant_id, e.run_id,
    (SELECT b.link FROM run_events b
     WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id AND b.run_seq = e.run_seq - e.commit_index) AS link_before,
    ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
  FROM run_events e
  WHERE e.position > ?
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = e.run_id AND r.tenant_id = e.tenant_id AND r.removed IS NOT NULL)
  ORDER BY e.position LIMIT ?`;

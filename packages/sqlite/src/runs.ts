/** The run engine on SQLite. The group commit serialises writers, so the head that a writer reads is current. */
import {
  type AppendPlan,
  decodeCursor,
  digestBytes,
  type EngineCall,
  encodeCursor,
  eventOfRow,
  type FeedEntry,
  isTombstone,
  type PlacedEvent,
  planAppend,
  type RunAppend,
  type RunHead,
  type RunKey,
  type RunTombstone,
  rowOf,
  type SameCommitWrites,
  type StoreContext,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import {
  EVENT_COLUMNS,
  feedColumns,
  feedEntry,
  HEAD_COLUMNS,
  headOf,
  NOT_REMOVED,
  SELECT_HEAD,
  type SqlRecords,
  SqlRuns,
  valuesOfHead,
  writeInSameCommit,
} from '@tidemark/sql';
import { type Connection, connectionOf } from './connection.ts';
import { type CommitListener, type Database, nativeSql, OpenTransaction } from './database.ts';
import { translateError } from './errors.ts';
import { INSERT_EVENT, RUN_DIALECT } from './run-dialect.ts';

const MAX_CACHED_HEADS = 50_000;
const NOTHING_STORED: ReadonlyMap<string, StoredRunEvent> = new Map();

type Head = RunHead | RunTombstone | null;

export class SqliteRuns extends SqlRuns<OpenTransaction, Database> implements CommitListener {
  readonly #context: StoreContext;
  readonly #records: SqlRecords;
  /** Cached heads, valid until another connection writes. */
  readonly #heads = new Map<string, RunHead>();
  /** Heads that this transaction has moved; each is written once, before the commit. */
  readonly #moved = new Map<string, RunHead>();
  /** Runs that this transaction has moved and whose row something else has changed since. */
  readonly #settled = new Set<string>();

  constructor(context: StoreContext, database: Database, records: SqlRecords) {
    super(database, RUN_DIALECT, () => context.clock());
    this.#context = context;
    this.#records = records;
    database.listen(this);
  }

  begun(changed: boolean): void {
    if (changed) this.#heads.clear();
  }

  committing(connection: Connection): void {
    for (const [key, head] of this.#moved) this.#writeHead(connection, head, this.#heads.get(key));
  }

  /** Writes only the columns that an append changes: setting an unchanged status would also rewrite its index. */
  #writeHead(connection: Connection, head: RunHead, stored: RunHead | undefined): void {
    if (stored === undefined || stored.status !== head.status) {
      connection.run(UPSERT_HEAD, ...valuesOfHead(head));
      return;
    }
    const moved = connection.run(
      MOVE_HEAD,
      head.seq,
      digestBytes(head.link),
      head.updatedAt,
      head.runId,
      head.tenantId,
    );
    if (moved !== 1) throw new Error(`The head of run ${head.runId} went away while the run was locked`);
  }

  committed(): void {
    const { signals } = this.database;
    for (const [key, head] of this.#moved) {
      this.#heads.delete(key);
      this.#heads.set(key, head);
      signals.notify(topicOf(key));
    }
    for (const key of this.#settled) signals.notify(topicOf(key));
    if (this.#moved.size + this.#settled.size > 0) signals.notify(ANY_RUN);
    this.#moved.clear();
    this.#settled.clear();
    for (const key of this.#heads.keys()) {
      if (this.#heads.size <= MAX_CACHED_HEADS) break;
      this.#heads.delete(key);
    }
  }

  rolledBack(): void {
    this.#moved.clear();
    this.#settled.clear();
    this.#heads.clear();
  }

  protected override submit(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    if (append.sameCommit) return this.#appendWith(append, append.sameCommit, call);
    const run = (connection: Connection) => {
      const plan = this.#write(connection, append);
      this.#move(append.run, plan);
      return plan.placed;
    };
    return this.database.submit({ savepoint: append.events.length > 1, run }, call);
  }

  async #appendWith(append: RunAppend, sameCommit: SameCommitWrites, call: EngineCall): Promise<PlacedEvent[]> {
    let report: (() => void) | undefined;
    const run = async (connection: Connection) => {
      const plan = this.#write(connection, append);
      if (plan.rows.length === 0) return plan.placed;
      report = await writeInSameCommit(new OpenTransaction(connection), this.#records, append, sameCommit, plan);
      // Last: if an earlier step fails, the savepoint removes the events and the head must not have moved.
      this.#move(append.run, plan);
      return plan.placed;
    };
    const placed = await this.database.submit<PlacedEvent[]>({ savepoint: true, run }, call);
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

  /** Appends with the caller's handle, inside the caller's transaction. */
  protected override async appendInside(
    appends: readonly RunAppend[],
    transaction: unknown,
  ): Promise<(PlacedEvent[] | Error)[]> {
    const connection = connectionOf(transaction);
    try {
      return appends.map((append) => {
        const plan = writeAppend(connection, append, readHead(connection, append.run), this.#context.clock());
        if (plan.rows.length > 0) connection.run(UPSERT_HEAD, ...valuesOfHead(plan.head));
        return plan.placed;
      });
    } catch (error) {
      throw translateError(error, this.database.path);
    }
  }

  /** The head stays in `#moved` until the work has succeeded: if it fails, the savepoint also undoes this row. */
  protected override async settleHead({ connection }: OpenTransaction, run: RunKey): Promise<void> {
    const key = keyOf(run);
    const moved = this.#moved.get(key);
    if (moved) connection.run(UPSERT_HEAD, ...valuesOfHead(moved));
    // The row may now have a status that the cached head lacks: the next append must write the whole row.
    this.#heads.delete(key);
  }

  protected override headChanged(run: RunKey): void {
    const key = keyOf(run);
    this.#heads.delete(key);
    if (this.#moved.delete(key)) this.#settled.add(key);
  }

  protected override announce(run: RunKey): void {
    this.database.signals.notify(topicOf(keyOf(run)));
    this.database.signals.notify(ANY_RUN);
  }

  async feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]> {
    const isPosition = (values: unknown[]) =>
      values.length === 1 && Number.isSafeInteger(values[0]) && (values[0] as number) >= 0;
    const position = after === null ? 0 : decodeCursor<[number]>(after, isPosition)[0];
    const rows = await this.database.readArrays(SELECT_FEED, [position, limit], call);
    return rows.map((row) => feedEntry(encodeCursor([row[0]]), row, 1));
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.database.wait(run ? topicOf(keyOf(run)) : ANY_RUN, call);
  }
}

const ANY_RUN = 'runs';

function topicOf(key: string): string {
  return `run\0${key}`;
}

function keyOf(run: RunKey): string {
  return `${run.tenantId}\0${run.runId}`;
}

/**
 * Writes an append against a locked head. A single event is inserted without looking up its key, which is nearly always
 * new. The stored event is read only when the insert conflicts.
 */
function writeAppend(connection: Connection, append: RunAppend, head: Head, now: number): AppendPlan {
  if (append.events.length === 1) {
    const plan = planOrNull(append, head, now);
    if (plan && connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...rowOf(plan.rows[0]!)) === 1)
      return plan;
  }
  const plan = planAppend(append, head, readStored(connection, append, head), now);
  for (const row of plan.rows) {
    if (connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...rowOf(row)) !== 1) {
      throw new Error(
        `Key ${row.idempotencyKey} or sequence ${row.runSeq} of run ${append.run.runId} was taken while the run was locked`,
      );
    }
  }
  return plan;
}

/**
 * Returns the plan on the assumption that the key is new, or `null`: a refusal counts only once the key is known to be
 * new.
 */
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
  return new Map(rows.map((row) => eventOfRow(row)).map((event) => [event.idempotencyKey, event]));
}

function readHead(connection: Connection, run: RunKey): Head {
  const [row] = connection.allArrays(READ_HEAD, run.runId, run.tenantId);
  return row ? headOf(row) : null;
}

const READ_HEAD = nativeSql(SELECT_HEAD);

const UPSERT_HEAD = `
  INSERT INTO runs (${HEAD_COLUMNS.join(', ')}) VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_seq = excluded.last_seq, link = excluded.link, updated_at = excluded.updated_at`;

const MOVE_HEAD = 'UPDATE runs SET last_seq = ?, link = ?, updated_at = ? WHERE run_id = ? AND tenant_id = ?';

const SELECT_BY_KEYS = `
  SELECT ${EVENT_COLUMNS.join(', ')} FROM run_events
  WHERE run_id = ? AND tenant_id = ? AND idempotency_key IN (SELECT value FROM json_each(?))`;

/** The link before the commit of an event `e`. */
const LINK_BEFORE = `
  SELECT b.link FROM @run_events b
  WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id AND b.run_seq = e.run_seq - e.commit_index`;

/** In commit order. */
const SELECT_FEED = `
  SELECT e.position, ${feedColumns(LINK_BEFORE)}
  FROM @run_events e
  WHERE e.position > ? AND ${NOT_REMOVED}
  ORDER BY e.position LIMIT ?`;

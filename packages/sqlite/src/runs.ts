/** The run engine on SQLite. The group commit serialises writers, so the head that a writer reads is current. */
import {
  type AppendPlan,
  type AppendRules,
  type ChainFormat,
  decodeCursor,
  digestBytes,
  type EngineCall,
  encodeCursor,
  eventOfRow,
  type FeedEntry,
  isTombstone,
  NEWEST_CHAIN_FORMAT,
  planAppend,
  type RunAppend,
  type RunHead,
  type RunKey,
  type RunTombstone,
  rowOf,
  type SameCommitWrites,
  type SequencedEvent,
  type StoreContext,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import {
  beginLife,
  EVENT_COLUMNS,
  endText,
  feedColumns,
  feedEntry,
  feedEntryOrNotice,
  HEAD_COLUMNS,
  headOf,
  NOT_REMOVED,
  NOTICE_COLUMNS,
  SELECT_HEAD,
  type SqlRecords,
  SqlRuns,
  valuesOfHead,
  writeInSameCommit,
} from '@tidemark/sql';
import { type Connection, connectionOf } from './connection.ts';
import { type CommitListener, type Database, nativeSql, OpenTransaction } from './database.ts';
import { translateError } from './errors.ts';
import { readMarker } from './migrations.ts';
import { INSERT_EVENT, RUN_DIALECT } from './run-dialect.ts';

const MAX_CACHED_HEADS = 50_000;
const NOTHING_STORED: ReadonlyMap<string, StoredRunEvent> = new Map();

type Head = RunHead | RunTombstone | null;

export class SqliteRuns extends SqlRuns<OpenTransaction, Database> implements CommitListener {
  readonly #context: StoreContext;
  readonly #records: SqlRecords;
  /** Cached heads, valid until another connection writes. */
  readonly #heads = new Map<string, RunHead>();
  /** Heads that this transaction has changed. Each head is written once, before the commit. */
  readonly #moved = new Map<string, RunHead>();
  /** Runs that this transaction has changed and whose row another operation has changed since. */
  readonly #settled = new Set<string>();

  /** The chain format of new commits: the file's marker, which is read again after another process has written. */
  #format: ChainFormat;

  constructor(context: StoreContext, database: Database, records: SqlRecords) {
    super(database, RUN_DIALECT, () => context.clock());
    this.#context = context;
    this.#records = records;
    this.#format = readMarker(database.writer);
    database.listen(this);
  }

  begun(changed: boolean): void {
    if (!changed) return;
    this.#heads.clear();
    if (this.#format < NEWEST_CHAIN_FORMAT) this.#format = readMarker(this.database.writer);
  }

  committing(connection: Connection): void {
    for (const [key, head] of this.#moved) this.#writeHead(connection, head, this.#heads.get(key));
  }

  /**
   * Writes only the columns that an append changes, because setting an unchanged status would also rewrite its index.
   */
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

  protected override submit(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    if (append.sameCommit) return this.#appendWith(append, append.sameCommit, call);
    if (append.life === 'new') return this.#appendToNewLife(append, call);
    const run = (connection: Connection) => {
      const plan = writeAppend(connection, append, this.#head(connection, append.run), this.#rules());
      this.#move(append.run, plan);
      return plan.placed;
    };
    return this.database.submit({ savepoint: append.events.length > 1, run }, call);
  }

  #appendToNewLife(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    const run = async (connection: Connection) => {
      const plan = await this.#write(connection, append);
      this.#move(append.run, plan);
      return plan.placed;
    };
    return this.database.submit<SequencedEvent[]>({ savepoint: true, run }, call);
  }

  async #appendWith(append: RunAppend, sameCommit: SameCommitWrites, call: EngineCall): Promise<SequencedEvent[]> {
    let report: (() => void) | undefined;
    const run = async (connection: Connection) => {
      const plan = await this.#write(connection, append);
      if (plan.rows.length === 0) return plan.placed;
      report = await writeInSameCommit(new OpenTransaction(connection), this.#records, append, sameCommit, plan);
      // Done last, because if an earlier step fails, the savepoint removes the events and the head must not have
      // changed.
      this.#move(append.run, plan);
      return plan.placed;
    };
    const placed = await this.database.submit<SequencedEvent[]>({ savepoint: true, run }, call);
    report?.();
    return placed;
  }

  async #write(connection: Connection, append: RunAppend): Promise<AppendPlan> {
    return writeAnyLife(connection, append, this.#head(connection, append.run), this.#rules());
  }

  #head(connection: Connection, run: RunKey): Head {
    const key = keyOf(run);
    return this.#moved.get(key) ?? this.#heads.get(key) ?? readHead(connection, run);
  }

  /** The format of the chain of new commits. */
  get chainFormat(): ChainFormat {
    return this.#format;
  }

  #rules(): AppendRules {
    return { now: this.#context.clock(), format: this.#format };
  }

  #move(run: RunKey, { rows, head }: AppendPlan): void {
    if (rows.length > 0) this.#moved.set(keyOf(run), head);
  }

  /** Appends with the caller's handle, inside the caller's transaction. */
  protected override async appendInside(
    appends: readonly RunAppend[],
    transaction: unknown,
  ): Promise<(SequencedEvent[] | Error)[]> {
    const connection = connectionOf(transaction);
    try {
      const placed: SequencedEvent[][] = [];
      for (const append of appends) {
        const plan = await writeAnyLife(connection, append, readHead(connection, append.run), this.#rules());
        if (plan.rows.length > 0) connection.run(UPSERT_HEAD, ...valuesOfHead(plan.head));
        placed.push(plan.placed);
      }
      return placed;
    } catch (error) {
      throw translateError(error, this.database.path);
    }
  }

  /**
   * The head stays in `#moved` until the work has succeeded, because if it fails, the savepoint also undoes this row.
   */
  protected override async settleHead({ connection }: OpenTransaction, run: RunKey): Promise<void> {
    const key = keyOf(run);
    const moved = this.#moved.get(key);
    if (moved) connection.run(UPSERT_HEAD, ...valuesOfHead(moved));
    // The row may now have a status that the cached head does not have, so the next append must write the whole row.
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

  async feed(after: string | null, limit: number, call: EngineCall, notices?: boolean): Promise<FeedEntry[]> {
    const [position, notice = 0] = after === null ? [0] : decodeCursor<[number, number?]>(after, isFeedPosition);
    if (notices) {
      const params = [position, limit, position, notice, limit, limit];
      const rows = await this.database.readArrays(SELECT_FEED_WITH_NOTICES, params, call);
      return rows.map((row) => feedEntryOrNotice(encodeCursor(row[1] === 0 ? [row[0]] : [row[0], row[1]]), row, 3));
    }
    const rows = await this.database.readArrays(SELECT_FEED, [position, limit], call);
    return rows.map((row) => feedEntry(encodeCursor([row[0]]), row, 1));
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.database.wait(run ? topicOf(keyOf(run)) : ANY_RUN, call);
  }
}

/** The position of an event, or of an event and the position of a notice after it. */
function isFeedPosition(values: unknown[]): boolean {
  const isNumber = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  return (values.length === 1 || values.length === 2) && values.every(isNumber);
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
function writeAppend(connection: Connection, append: RunAppend, head: Head, rules: AppendRules): AppendPlan {
  if (append.events.length === 1) {
    const plan = planOrNull(append, head, rules);
    if (plan && connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...rowOf(plan.rows[0]!)) === 1)
      return plan;
  }
  const plan = planAppend(append, head, readStored(connection, append, head), rules);
  insertRows(connection, append, plan);
  return plan;
}

/**
 * Writes an append that may begin a new life. The head of a new life is written at once, unlike the heads of other
 * appends.
 */
async function writeAnyLife(
  connection: Connection,
  append: RunAppend,
  head: Head,
  rules: AppendRules,
): Promise<AppendPlan> {
  if (append.life !== 'new' || !isTombstone(head)) return writeAppend(connection, append, head, rules);
  const plan = planAppend(append, head, NOTHING_STORED, rules);
  await beginLife(new OpenTransaction(connection), append.run, plan.head, RUN_DIALECT.removeStep);
  insertRows(connection, append, plan);
  return plan;
}

function insertRows(connection: Connection, append: RunAppend, plan: AppendPlan): void {
  for (const row of plan.rows) {
    if (connection.run(INSERT_EVENT, append.run.tenantId, append.run.runId, ...rowOf(row)) !== 1) {
      throw new Error(
        `Key ${row.idempotencyKey} or sequence ${row.runSeq} of run ${append.run.runId} was taken while the run was locked`,
      );
    }
  }
}

/**
 * Returns the plan on the assumption that the key is new, or `null` if it would be refused, because a refusal is final
 * only once the key is known to be new.
 */
function planOrNull(append: RunAppend, head: Head, rules: AppendRules): AppendPlan | null {
  try {
    return planAppend(append, head, NOTHING_STORED, rules);
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

/** The end of the commit that precedes the commit of an event `e`. */
const END_BEFORE = `
  SELECT ${endText('hex(b.link)', 'b')} FROM @run_events b
  WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id AND b.run_seq = e.run_seq - e.commit_index`;

/** In commit order. */
const SELECT_FEED = `
  SELECT e.position, ${feedColumns(END_BEFORE)}
  FROM @run_events e
  WHERE e.position > ? AND ${NOT_REMOVED}
  ORDER BY e.position LIMIT ?`;

/**
 * Like `SELECT_FEED`, with the notices after each event. A single statement, so that events and notices come from the
 * same state of the database.
 */
const SELECT_FEED_WITH_NOTICES = `
  SELECT * FROM (
    SELECT e.position AS position, 0 AS notice_position, NULL AS notice, ${feedColumns(END_BEFORE)}
    FROM @run_events e WHERE e.position > ? AND ${NOT_REMOVED} ORDER BY e.position LIMIT ?
  )
  UNION ALL
  SELECT * FROM (
    SELECT n.after_event, n.position, n.notice, ${NOTICE_COLUMNS}
    FROM @run_notices n WHERE (n.after_event, n.position) > (?, ?)
    ORDER BY n.after_event, n.position LIMIT ?
  )
  ORDER BY position, notice_position LIMIT ?`;

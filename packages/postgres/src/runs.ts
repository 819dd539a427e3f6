/**
 * The run engine on PostgreSQL: one statement for a group of appends, and the exact append for the appends that it
 * skips.
 */
import { invalidArgument, isTidemarkError } from '@tidemark/core';
import {
  type ChainMarker,
  compareKeys,
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type FeedEntry,
  GroupCommit,
  KeyedMutex,
  type RunAppend,
  type RunKey,
  type SameCommitWrites,
  type SequencedEvent,
  type StoreContext,
} from '@tidemark/core/engine';
import {
  endText,
  FEED_COLUMNS,
  feedColumns,
  feedEntry,
  feedEntryOrNotice,
  NOT_REMOVED,
  NOTICE_COLUMNS,
  type SqlRecords,
  SqlRuns,
  settleRaces,
  writeInSameCommit,
} from '@tidemark/sql';
import type pg from 'pg';
import { AppendGroup, appendColumns, type GroupOutcome } from './append-group.ts';
import { APPEND, APPEND_KEEPING_STATUS } from './append-sql.ts';
import { type Database, OpenTransaction } from './database.ts';
import { isFenced, isSerializationFailure, isUniqueViolation, translateRead, translateWrite } from './errors.ts';
import { appendExactly } from './exact-append.ts';
import { ANY_RUN, type Notifications, topicOf } from './notifications.ts';
import { copiedEpochs, type FeedPosition } from './placement/origins.ts';
import { RUN_DIALECT } from './run-dialect.ts';

export class PostgresRuns extends SqlRuns<OpenTransaction, Database> {
  readonly #notifications: Notifications;
  readonly #records: SqlRecords;
  readonly #marker: ChainMarker;
  /** Limits each run to one connection, so that appends waiting for one run's head do not use up the pool. */
  readonly #runMutex = new KeyedMutex();
  readonly #group: GroupCommit<RunAppend, SequencedEvent[]>;

  constructor(
    context: StoreContext,
    database: Database,
    notifications: Notifications,
    records: SqlRecords,
    marker: ChainMarker,
  ) {
    super(database, RUN_DIALECT, () => context.clock());
    this.#marker = marker;
    this.#notifications = notifications;
    this.#records = records;
    this.#group = new GroupCommit((take) => this.#commit(take()), { maxGroup: 500 });
  }

  /** A fence and a life are compared with the current head, which the group statement cannot do. */
  protected override submit(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    if (append.sameCommit) return this.#appendWith(append, append.sameCommit, call);
    const isPlain = append.expectedSeq === undefined && append.life === undefined;
    return isPlain ? this.#group.submit(append, call) : this.#appendOne(append, call);
  }

  async #commit(appends: readonly RunAppend[]): Promise<(SequencedEvent[] | Error)[]> {
    const outcomes = await this.#appendTogether(appends);
    this.#notifications.announce(appends.filter((_, at) => outcomes[at] !== 'left').map((append) => append.run));
    if (!outcomes.includes('left')) return outcomes as SequencedEvent[][];
    return Promise.all(
      outcomes.map((outcome, at) =>
        outcome === 'left' ? this.#appendOne(appends[at]!, {}).catch((error: Error) => error) : outcome,
      ),
    );
  }

  async #appendTogether(appends: readonly RunAppend[]): Promise<GroupOutcome[]> {
    const group = new AppendGroup(appends);
    const statement = (group.changesStatus ? APPEND : APPEND_KEEPING_STATUS)[this.#marker.current()];
    const columns = appendColumns.take();
    group.encode(columns);
    const values = columns.map((column) => column.finish());
    try {
      return group.outcomes(await this.database.statement(statement, values, group.tenants));
    } catch (error) {
      // Another writer stored a key or took a lock after the statement began, or a tenant is fenced, so no event of the
      // group was written.
      if (!isUniqueViolation(error) && !isSerializationFailure(error) && !isFenced(error)) throw translateWrite(error);
      return appends.map(() => 'left');
    } finally {
      appendColumns.giveBack(columns);
    }
  }

  async #appendOne(append: RunAppend, call: EngineCall): Promise<SequencedEvent[]> {
    const write = (tx: OpenTransaction) => appendExactly(tx, append, this.#marker.current());
    const { placed } = await this.database.write(write, call, append.run.tenantId);
    this.#notifications.announce([append.run]);
    return placed;
  }

  async #appendWith(append: RunAppend, sameCommit: SameCommitWrites, call: EngineCall): Promise<SequencedEvent[]> {
    const { run } = append;
    let report: (() => void) | undefined;
    const write = async (tx: OpenTransaction) => {
      report = undefined;
      const plan = await appendExactly(tx, append, this.#marker.current());
      if (plan.rows.length > 0) report = await writeInSameCommit(tx, this.#records, append, sameCommit, plan);
      return plan.placed;
    };
    call.phase ??= 'waiting';
    const placed = await this.#runMutex.run(topicOf(run), call, () => {
      call.phase = 'begun';
      return settleRaces(() => this.database.write(write, call, run.tenantId));
    });
    report?.();
    this.#notifications.announce([run]);
    return placed;
  }

  /** Appends with the caller's client, inside the caller's transaction. */
  protected override async appendInside(
    appends: readonly RunAppend[],
    transaction: unknown,
  ): Promise<(SequencedEvent[] | Error)[]> {
    const client = transaction as pg.ClientBase;
    if (typeof client?.query !== 'function')
      throw invalidArgument('transaction', 'a client of pg with an open transaction', client);
    const outcomes = new Map<RunAppend, SequencedEvent[]>();
    const tenants = [...new Set(appends.map((append) => append.run.tenantId))];
    const tx = new OpenTransaction(client, this.database.dialect);
    try {
      await this.database.joined(client, tenants, async () => {
        // Locks in the same order as the group statement, to avoid deadlocks.
        for (const append of [...appends].sort(byLockOrder)) {
          outcomes.set(append, (await appendExactly(tx, append, this.#marker.current())).placed);
        }
      });
      return appends.map((append) => outcomes.get(append)!);
    } catch (error) {
      throw isTidemarkError(error) ? error : translateRead(error);
    }
  }

  protected override announce(run: RunKey): void {
    this.#notifications.announce([run]);
  }

  async feed(after: string | null, limit: number, call: EngineCall, notices?: boolean): Promise<FeedEntry[]> {
    const position = after === null ? FEED_START : decodeCursor<[number, string, number]>(after, isFeedPosition);
    const range = [...position];
    return this.#readFeed(notices ? SELECT_FEED_WITH_NOTICES : SELECT_FEED, range, limit, call, notices);
  }

  /**
   * Returns the position up to which the feed can be read now: transactions beyond it may still commit. Read it before
   * the feeds that it bounds.
   */
  async feedHorizon(call: EngineCall): Promise<FeedPosition> {
    const [row] = await this.database.readArrays(SELECT_HORIZON, [], call);
    return [row![0] as number, row![1] as string, 0];
  }

  /**
   * Returns entries of another server's feed, between two positions of that feed, that were copied here together with
   * their tenants.
   */
  async copiedFeed(
    origin: number,
    after: string | null,
    before: FeedPosition,
    limit: number,
    call: EngineCall,
    notices: boolean,
  ): Promise<FeedEntry[]> {
    const [epoch, xid, at] =
      after === null ? FEED_START : decodeCursor<[number, string, number]>(after, isFeedPosition);
    const base = copiedEpochs(origin);
    const range = [epoch + base, xid, at, before[0] + base, before[1]];
    const statement = notices ? SELECT_COPIED_WITH_NOTICES : SELECT_COPIED;
    return this.#readFeed(statement, range, limit, call, notices, base);
  }

  async #readFeed(
    statement: string,
    range: readonly (string | number)[],
    limit: number,
    call: EngineCall,
    notices: boolean | undefined,
    base = 0,
  ): Promise<FeedEntry[]> {
    const cursorOf = (row: unknown[]) => encodeCursor([(row[0] as number) - base, row[1], row[2]]);
    if (notices) {
      const rows = await this.database.readArrays(statement, [...range, limit, ...range, limit, limit], call);
      return rows.map((row) => feedEntryOrNotice(cursorOf(row), row, 4));
    }
    const rows = await this.database.readArrays(statement, [...range, limit], call);
    return rows.map((row) => feedEntry(cursorOf(row), row, 3));
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#notifications.wait(run ? topicOf(run) : ANY_RUN, call);
  }

  /** Waits until all accepted appends have been settled. */
  drain(): Promise<void> {
    return this.#group.drain();
  }
}

const FEED_START: FeedPosition = [0, '0', 0];

function isFeedPosition(values: unknown[]): boolean {
  const [epoch, xid, position] = values;
  return (
    values.length === 3 &&
    isEpoch(epoch) &&
    typeof xid === 'string' &&
    Number.isSafeInteger(position) &&
    /^\d{1,19}$/.test(xid)
  );
}

function byLockOrder(a: RunAppend, b: RunAppend): number {
  return compareKeys(a.run.runId, b.run.runId) || compareKeys(a.run.tenantId, b.run.tenantId);
}

/** Whether a value is an epoch. The column is an `integer`, so a larger number would fail in the database. */
function isEpoch(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
}

/**
 * The end of the commit that precedes the commit of an event `e`. Ordered by sequence, because otherwise the planner
 * would read the whole run through the index of keys.
 */
const END_BEFORE = `
  SELECT ${endText("encode(b.link, 'hex')", 'b')} FROM @run_events b
  WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id
    AND b.run_seq >= e.run_seq - e.commit_index AND b.run_seq <= e.run_seq - e.commit_index
  ORDER BY b.run_seq LIMIT 1`;

/**
 * The condition for rows after a position, in transaction order. Excludes rows beyond the oldest open transaction,
 * because otherwise a reader would skip rows that are committed later behind its cursor. Earlier epochs are complete.
 */
const isNext = (row: string) => `
    (${row}.epoch, ${row}.xid, ${row}.position) > (?::int, ?::text::xid8, ?::bigint)
    AND (${row}.epoch < (SELECT max(epoch) FROM @feed_epochs) OR ${row}.xid < pg_snapshot_xmin(pg_current_snapshot()))`;

/** The condition for copies of another server's entries between two positions. All of them are committed. */
const isCopied = (row: string) => `
    (${row}.epoch, ${row}.xid, ${row}.position) > (?::int, ?::text::xid8, ?::bigint)
    AND (${row}.epoch, ${row}.xid) < (?::int, ?::text::xid8)`;

const SELECT_HORIZON = `
  SELECT max(epoch), pg_snapshot_xmin(pg_current_snapshot())::text FROM @feed_epochs`;

const feedSql = (condition: (row: string) => string) => `
  SELECT e.epoch, e.xid::text, e.position, ${feedColumns(END_BEFORE)}
  FROM @run_events e
  WHERE ${condition('e')} AND ${NOT_REMOVED}
  ORDER BY e.epoch, e.xid, e.position LIMIT ?`;

/** The same feed with notices. A single statement, so that events and notices come from the same snapshot. */
const feedWithNoticesSql = (condition: (row: string) => string) => `
  SELECT f.epoch, f.xid::text, f.position, f.notice, ${FEED_COLUMNS.map((column) => `f.${column}`).join(', ')}
  FROM (
    (
      SELECT e.epoch, e.xid, e.position, NULL AS notice, ${feedColumns(END_BEFORE)}
      FROM @run_events e WHERE ${condition('e')} AND ${NOT_REMOVED}
      ORDER BY e.epoch, e.xid, e.position LIMIT ?
    )
    UNION ALL
    (
      SELECT n.epoch, n.xid, n.position, n.notice, ${NOTICE_COLUMNS}
      FROM @run_notices n WHERE ${condition('n')}
      ORDER BY n.epoch, n.xid, n.position LIMIT ?
    )
  ) AS f
  ORDER BY f.epoch, f.xid, f.position LIMIT ?`;

const SELECT_FEED = feedSql(isNext);
const SELECT_FEED_WITH_NOTICES = feedWithNoticesSql(isNext);
const SELECT_COPIED = feedSql(isCopied);
const SELECT_COPIED_WITH_NOTICES = feedWithNoticesSql(isCopied);

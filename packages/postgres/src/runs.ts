/** The run engine on PostgreSQL: groups of appends in one statement, and the exact append for those it skips. */
import { invalidArgument, isTidemarkError } from '@tidemark/core';
import {
  compareKeys,
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type FeedEntry,
  GroupCommit,
  KeyedMutex,
  type PlacedEvent,
  type RunAppend,
  type RunKey,
  type SameCommitWrites,
  type StoreContext,
} from '@tidemark/core/engine';
import {
  feedColumns,
  feedEntry,
  NOT_REMOVED,
  type SqlRecords,
  SqlRuns,
  settleRaces,
  writeInSameCommit,
} from '@tidemark/sql';
import type pg from 'pg';
import { AppendGroup, type GroupOutcome } from './append-group.ts';
import { APPEND, APPEND_KEEPING_STATUS } from './append-sql.ts';
import { type Database, OpenTransaction } from './database.ts';
import { isSerializationFailure, isUniqueViolation, translateRead, translateWrite } from './errors.ts';
import { appendExactly } from './exact-append.ts';
import { ANY_RUN, type Notifications, topicOf } from './notifications.ts';
import { RUN_DIALECT } from './run-dialect.ts';

export class PostgresRuns extends SqlRuns<OpenTransaction, Database> {
  readonly #notifications: Notifications;
  readonly #records: SqlRecords;
  /** One connection per run: appends that wait for a run's head must not use up the connections of other runs. */
  readonly #runMutex = new KeyedMutex();
  readonly #group: GroupCommit<RunAppend, PlacedEvent[]>;

  constructor(context: StoreContext, database: Database, notifications: Notifications, records: SqlRecords) {
    super(database, RUN_DIALECT, () => context.clock());
    this.#notifications = notifications;
    this.#records = records;
    this.#group = new GroupCommit((take) => this.#commit(take()), { maxGroup: 500 });
  }

  /** A fence is compared with the current head, which the group statement cannot do. */
  protected override submit(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    if (append.sameCommit) return this.#appendWith(append, append.sameCommit, call);
    return append.expectedSeq === undefined ? this.#group.submit(append, call) : this.#appendOne(append, call);
  }

  async #commit(appends: readonly RunAppend[]): Promise<(PlacedEvent[] | Error)[]> {
    const outcomes = await this.#appendTogether(appends);
    const settled = await Promise.all(
      outcomes.map((outcome, at) =>
        outcome === 'left' ? this.#appendOne(appends[at]!, {}).catch((error: Error) => error) : outcome,
      ),
    );
    this.#notifications.announce(appends.filter((_, at) => outcomes[at] !== 'left').map((append) => append.run));
    return settled;
  }

  async #appendTogether(appends: readonly RunAppend[]): Promise<GroupOutcome[]> {
    const group = new AppendGroup(appends);
    const statement = group.changesStatus ? APPEND : APPEND_KEEPING_STATUS;
    try {
      return group.outcomes(await this.database.statement(statement, group.parameters(), group.tenants));
    } catch (error) {
      // A key was stored, or a lock taken, since the statement began: nothing of the group was written.
      if (!isUniqueViolation(error) && !isSerializationFailure(error)) throw translateWrite(error);
      return appends.map(() => 'left');
    }
  }

  async #appendOne(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    const write = (tx: OpenTransaction) => appendExactly(tx, append);
    const { placed } = await this.database.write(write, call, append.run.tenantId);
    this.#notifications.announce([append.run]);
    return placed;
  }

  async #appendWith(append: RunAppend, sameCommit: SameCommitWrites, call: EngineCall): Promise<PlacedEvent[]> {
    const { run } = append;
    let report: (() => void) | undefined;
    const write = async (tx: OpenTransaction) => {
      report = undefined;
      const plan = await appendExactly(tx, append);
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
  ): Promise<(PlacedEvent[] | Error)[]> {
    const client = transaction as pg.ClientBase;
    if (typeof client?.query !== 'function')
      throw invalidArgument('transaction', 'a client of pg with an open transaction', client);
    const outcomes = new Map<RunAppend, PlacedEvent[]>();
    const tenants = [...new Set(appends.map((append) => append.run.tenantId))];
    const tx = new OpenTransaction(client, this.database.dialect);
    try {
      await this.database.joined(client, tenants, async () => {
        // In the same order as the group statement locks, to avoid deadlocks.
        for (const append of [...appends].sort(byLockOrder)) {
          outcomes.set(append, (await appendExactly(tx, append)).placed);
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

  async feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]> {
    const isFeedPosition = (values: unknown[]) =>
      values.length === 3 &&
      isEpoch(values[0]) &&
      typeof values[1] === 'string' &&
      Number.isSafeInteger(values[2]) &&
      /^\d{1,19}$/.test(values[1]);
    const position =
      after === null ? ([0, '0', 0] as const) : decodeCursor<[number, string, number]>(after, isFeedPosition);
    const rows = await this.database.readArrays(SELECT_FEED, [...position, limit], call);
    return rows.map((row) => feedEntry(encodeCursor(row.slice(0, 3)), row, 3));
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#notifications.wait(run ? topicOf(run) : ANY_RUN, call);
  }

  /** Waits until everything accepted has been settled. */
  drain(): Promise<void> {
    return this.#group.drain();
  }
}

function byLockOrder(a: RunAppend, b: RunAppend): number {
  return compareKeys(a.run.runId, b.run.runId) || compareKeys(a.run.tenantId, b.run.tenantId);
}

/** The column is an `integer`: a larger number would fail in the database. */
function isEpoch(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
}

/**
 * The link before the commit of an event `e`, ordered by sequence, so that the planner does not read a whole run
 * through the index of keys.
 */
const LINK_BEFORE = `
  SELECT b.link FROM @run_events b
  WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id
    AND b.run_seq >= e.run_seq - e.commit_index AND b.run_seq <= e.run_seq - e.commit_index
  ORDER BY b.run_seq LIMIT 1`;

/**
 * In transaction order, and never beyond the oldest transaction still open: otherwise a reader would forever skip an
 * event that is committed behind its cursor. Earlier epochs are complete.
 */
const SELECT_FEED = `
  SELECT e.epoch, e.xid::text, e.position, ${feedColumns(LINK_BEFORE)}
  FROM @run_events e
  WHERE (e.epoch, e.xid, e.position) > (?::int, ?::text::xid8, ?::bigint)
    AND (e.epoch < (SELECT max(epoch) FROM @feed_epochs) OR e.xid < pg_snapshot_xmin(pg_current_snapshot()))
    AND ${NOT_REMOVED}
  ORDER BY e.epoch, e.xid, e.position LIMIT ?`;

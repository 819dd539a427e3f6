/** The run engine on PostgreSQL: groups of appends in one statement, everything it leaves undone by the exact way. */
import { invalidArgument, isTidemarkError } from '@tidemark/core';
import {
  type Alongside,
  checkRemoval,
  compareKeys,
  type DamagedHead,
  decodeCursor,
  digestOf,
  type EngineCall,
  encodeCursor,
  type FeedEntry,
  FIRST_LINK,
  GroupCommit,
  type LogPage,
  type PlacedEvent,
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
  type StoredRedaction,
  type StoredRunEvent,
  type StoredSnapshot,
  Turns,
} from '@tidemark/core/engine';
import {
  EVENT_COLUMNS,
  eventOf,
  HEAD_COLUMNS,
  headOf,
  headsOf,
  integerOf,
  removeQuarantine,
  runListSql,
  type SqlInteger,
  type SqlRecords,
  type SqlTransaction,
  settleRaces,
  sqlQuarantines,
} from '@tidemark/sql';
import type pg from 'pg';
import { AppendGroup, type GroupOutcome } from './append-group.ts';
import { APPEND, APPEND_KEEPING_STATUS } from './append-sql.ts';
import { type Database, OpenTransaction } from './database.ts';
import { isSerializationFailure, isUniqueViolation, translateRead, translateWrite } from './errors.ts';
import { appendExactly, lockHead } from './exact-append.ts';
import { ANY_RUN, type Notifications, topicOf } from './notifications.ts';
import type { Client } from './pool.ts';
import { writePart } from './run-restore.ts';

/** Events removed in one transaction, so that locks are never held long. */
const REMOVE_STEP = 1_000;

export class PostgresRuns implements RunEngine {
  readonly quarantines: QuarantineEngine;
  readonly #database: Database;
  readonly #notifications: Notifications;
  readonly #records: SqlRecords;
  /** One connection a run is enough: those who wait for its head would keep others from theirs. */
  readonly #turns = new Turns();
  readonly #group: GroupCommit<RunAppend, PlacedEvent[]>;

  constructor(database: Database, notifications: Notifications, records: SqlRecords) {
    this.#database = database;
    this.#notifications = notifications;
    this.#records = records;
    this.quarantines = sqlQuarantines(database, takeReleaseNumber);
    this.#group = new GroupCommit((take) => this.#commit(take()), { maxGroup: 500 });
  }

  append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(PlacedEvent[] | Error)[]> {
    if (call.transaction !== undefined) return this.#appendInside(appends, call.transaction);
    return Promise.all(appends.map((append) => this.#submit(append, call).catch((error: Error) => error)));
  }

  /** A fence speaks of the head as it is, which the group statement does not know. */
  #submit(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    if (append.alongside) return this.#appendWith(append, append.alongside, call);
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
      return group.outcomes(await this.#database.statement(statement, group.parameters(), group.tenants));
    } catch (error) {
      // A key was stored, or a lock taken, between look and write: nothing of the group was written.
      if (!isUniqueViolation(error) && !isSerializationFailure(error)) throw translateWrite(error);
      return appends.map(() => 'left');
    }
  }

  async #appendOne(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    const { placed } = await this.#database.transaction([append.run.tenantId], call, (client) =>
      appendExactly(client, this.#database.dialect, append),
    );
    this.#notifications.announce([append.run]);
    return placed;
  }

  async #appendWith(append: RunAppend, alongside: Alongside, call: EngineCall): Promise<PlacedEvent[]> {
    const { run } = append;
    let report: (() => void) | undefined;
    const write = async (client: Client) => {
      report = undefined;
      const { placed, rows, head } = await appendExactly(client, this.#database.dialect, append);
      if (rows.length === 0) return placed;
      const read = (afterSeq: number, limit: number) => this.#readInside(client, run, afterSeq, limit);
      const log = { rewrites: head.rewrites, read };
      const tx = new OpenTransaction(client, this.#database.dialect);
      report = await this.#records.changeInside(tx, alongside.names, (found) => alongside.writes(placed, found, log));
      return placed;
    };
    call.phase ??= 'waiting';
    const placed = await this.#turns.take(topicOf(run), call, () => {
      call.phase = 'begun';
      return settleRaces(() => this.#database.transaction([run.tenantId], call, write));
    });
    report?.();
    this.#notifications.announce([run]);
    return placed;
  }

  async #readInside(client: Client, run: RunKey, afterSeq: number, limit: number): Promise<StoredRunEvent[]> {
    const text = this.#database.dialect.script(SELECT_EVENTS);
    const { rows } = await client.query({ text, values: [run.runId, run.tenantId, afterSeq, limit], rowMode: 'array' });
    return rows.map((row) => eventOf(row));
  }

  /** Writes with the caller's own rows, on the caller's own client: its commit decides. */
  async #appendInside(appends: readonly RunAppend[], transaction: unknown): Promise<(PlacedEvent[] | Error)[]> {
    const client = transaction as pg.ClientBase;
    if (typeof client?.query !== 'function')
      throw invalidArgument('transaction', 'a client of pg with an open transaction', client);
    const outcomes = new Map<RunAppend, PlacedEvent[]>();
    const tenants = [...new Set(appends.map((append) => append.run.tenantId))];
    try {
      await this.#database.joined(client, tenants, async () => {
        // In one order for everybody, as the group statement locks.
        for (const append of [...appends].sort(byLockOrder)) {
          outcomes.set(append, (await appendExactly(client, this.#database.dialect, append)).placed);
        }
      });
      return appends.map((append) => outcomes.get(append)!);
    } catch (error) {
      throw isTidemarkError(error) ? error : translateRead(error);
    }
  }

  fetch(run: RunKey, afterSeq: number, limit: number): Promise<LogPage> {
    const read = async (after: number, count: number) => {
      const rows = await this.#database.readArrays(
        SELECT_EVENTS,
        [run.runId, run.tenantId, after, count],
        [run.tenantId],
      );
      return rows.map((row) => eventOf(row));
    };
    return readLogPage(read, afterSeq, limit);
  }

  async head(run: RunKey): Promise<RunHead | RunTombstone | null> {
    const [row] = await this.#database.readArrays(SELECT_HEAD, [run.runId, run.tenantId], [run.tenantId]);
    return row ? headOf(row) : null;
  }

  async tenantsOf(runId: string): Promise<string[]> {
    return (await this.#database.readArrays(SELECT_TENANTS, [runId], 'all')).map(([tenantId]) => tenantId as string);
  }

  async list(query: RunQuery, _: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]> {
    const { sql, params } = runListSql(query, 'labels ->> ?::text = ?');
    const rows = await this.#database.readArrays(
      this.#database.dialect.statement(sql),
      params,
      query.tenantId === undefined ? 'all' : [query.tenantId],
    );
    return headsOf(rows, onDamaged);
  }

  async loadSnapshot(run: RunKey): Promise<StoredSnapshot | null> {
    const [row] = await this.#database.readArrays(SELECT_SNAPSHOT, [run.runId, run.tenantId], [run.tenantId]);
    return row ? { lastEventSeq: row[0] as number, rewrites: row[1] as number, body: row[2] as string } : null;
  }

  async saveSnapshot(run: RunKey, snapshot: StoredSnapshot & { status: string }, call: EngineCall): Promise<void> {
    const { status, lastEventSeq, rewrites, body } = snapshot;
    const params = [run.tenantId, run.runId, status, lastEventSeq, rewrites, body];
    await this.#database.transaction([run.tenantId], call, (client) =>
      client.query(this.#database.dialect.script(UPSERT_SNAPSHOT), params),
    );
  }

  async dropSnapshot(run: RunKey, upToRewrites: number, call: EngineCall): Promise<void> {
    const params = [run.runId, run.tenantId, upToRewrites];
    await this.#database.transaction([run.tenantId], call, (client) =>
      client.query(this.#database.dialect.script(DROP_SNAPSHOT), params),
    );
  }

  async remove(run: RunKey, tombstone: RunTombstone, call: RemoveRunOptions): Promise<boolean> {
    const { dialect } = this.#database;
    const place = [run.runId, run.tenantId];
    const marked = await this.#database.transaction([run.tenantId], call, async (client) => {
      const isThere = checkRemoval(run, await lockHead(client, dialect, run), tombstone, call);
      if (isThere) await client.query(dialect.script(MARK_REMOVED), [...place, JSON.stringify(tombstone)]);
      await client.query(dialect.script('DELETE FROM @run_snapshots WHERE run_id = $1 AND tenant_id = $2'), place);
      await removeQuarantine(new OpenTransaction(client, dialect), run);
      return isThere;
    });
    await this.#removeEvents(run, call);
    return marked;
  }

  async restore(run: RunKey, part: RestoredPart, call: EngineCall & { overDeleted?: boolean }): Promise<void> {
    const { dialect } = this.#database;
    const write = async (client: Client) => {
      const outcome = await writePart(client, dialect, run, part, call.overDeleted);
      if (outcome === 'written' && part.isLast) await removeQuarantine(new OpenTransaction(client, dialect), run);
      return outcome;
    };
    for (;;) {
      const outcome = await this.#database.transaction([run.tenantId], call, write);
      if (outcome === 'leftovers') await this.#removeEvents(run, call);
      else if (outcome !== 'raced') break;
    }
    if (part.isLast) this.#notifications.announce([run]);
  }

  /** Until nothing is left, also of what another process removes at the same time: its steps take rows out of ours. */
  async #removeEvents(run: RunKey, call: EngineCall): Promise<void> {
    const { dialect } = this.#database;
    const place = [run.runId, run.tenantId];
    const step = async (client: pg.ClientBase) => {
      const { rowCount } = await client.query(dialect.script(DELETE_EVENTS), [...place, REMOVE_STEP]);
      return rowCount === REMOVE_STEP || (await client.query(dialect.script(SELECT_LEFT), place)).rows.length > 0;
    };
    while (await this.#database.transaction([run.tenantId], call, step));
  }

  /** Finishes the removal of runs that a crash interrupted. */
  async removeLeftovers(call: EngineCall): Promise<void> {
    for (const [tenantId, runId] of await this.#database.readArrays(SELECT_LEFTOVERS, [], 'all')) {
      await this.#removeEvents({ tenantId: tenantId as string, runId: runId as string }, call);
    }
  }

  redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean> {
    const params = [run.tenantId, run.runId, runSeq, JSON.stringify(redaction)];
    return this.#database.transaction([run.tenantId], call, async (client) => {
      const { rows } = await client.query(this.#database.dialect.script(REDACT), params);
      return rows[0].outcome !== 'missing';
    });
  }

  async feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]> {
    const isPlace = (values: unknown[]) =>
      values.length === 3 &&
      isEpoch(values[0]) &&
      typeof values[1] === 'string' &&
      Number.isSafeInteger(values[2]) &&
      /^\d{1,19}$/.test(values[1]);
    const [epoch, xid, position] =
      after === null ? [0, '0', 0] : decodeCursor<[number, string, number]>(after, isPlace);
    const reach = call.tenantId === undefined || call.tenantId === null ? 'all' : [call.tenantId];
    const rows = await this.#database.readArrays(SELECT_FEED, [epoch, xid, position, limit], reach);
    return rows.map((row) => {
      const [at, transaction, place, tenantId, runId, linkBefore] = row as [
        number,
        string,
        number,
        string,
        string,
        Uint8Array | null,
      ];
      return {
        cursor: encodeCursor([at, transaction, place]),
        run: { tenantId, runId },
        linkBefore: linkBefore ? digestOf(linkBefore) : FIRST_LINK,
        event: eventOf(row, 6),
      };
    });
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#notifications.wait(run ? topicOf(run) : ANY_RUN, call);
  }

  /** Waits until everything accepted has been settled. */
  drain(): Promise<void> {
    return this.#group.drain();
  }
}

/** Under a lock that is held to the commit: numbers of a sequence alone may be committed out of order. */
async function takeReleaseNumber(tx: SqlTransaction): Promise<number> {
  await tx.all("SELECT pg_advisory_xact_lock('@run_releases'::regclass::oid::bigint)", []);
  const [row] = await tx.all<{ number: SqlInteger }>("SELECT nextval('@run_releases') AS number", []);
  return integerOf(row!.number);
}

function byLockOrder(a: RunAppend, b: RunAppend): number {
  return compareKeys(a.run.runId, b.run.runId) || compareKeys(a.run.tenantId, b.run.tenantId);
}

const NOT_REMOVED =
  'NOT EXISTS (SELECT 1 FROM @runs r WHERE r.run_id = e.run_id AND r.tenant_id = e.tenant_id AND r.removed IS NOT NULL)';

const SELECT_HEAD = `SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE run_id = $1 AND tenant_id = $2`;

const SELECT_EVENTS = `
  SELECT ${EVENT_COLUMNS.join(', ')} FROM @run_events e
  WHERE run_id = $1 AND tenant_id = $2 AND run_seq > $3
    AND NOT EXISTS (SELECT 1 FROM @runs WHERE run_id = $1 AND tenant_id = $2 AND removed IS NOT NULL)
  ORDER BY run_seq LIMIT $4`;

const SELECT_TENANTS = `
  SELECT tenant_id FROM @runs WHERE run_id = $1 AND (removed IS NULL OR removed ->> 'kind' <> 'deleted') LIMIT 2`;

const SELECT_SNAPSHOT = `
  SELECT last_event_seq, rewrites, snapshot_data FROM @run_snapshots WHERE run_id = $1 AND tenant_id = $2`;

/**
 * An older snapshot never overwrites a newer one (RUN-13), and none is stored of a run that was removed or rewritten since.
 * The head is locked, so that neither can happen before the snapshot is there to be removed or overwritten.
 */
const UPSERT_SNAPSHOT = `
  WITH head AS (SELECT removed, rewrites FROM @runs WHERE run_id = $2 AND tenant_id = $1 FOR UPDATE)
  INSERT INTO @run_snapshots AS stored (tenant_id, run_id, status, last_event_seq, rewrites, snapshot_data, projected_at)
  SELECT $1, $2, $3, $4::bigint, $5::bigint, $6::json, @tidemark_now()
  WHERE NOT EXISTS (SELECT 1 FROM head WHERE removed IS NOT NULL OR rewrites <> $5::bigint)
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_event_seq = excluded.last_event_seq, rewrites = excluded.rewrites,
      snapshot_data = excluded.snapshot_data, projected_at = excluded.projected_at
  WHERE (excluded.rewrites, excluded.last_event_seq) >= (stored.rewrites, stored.last_event_seq)`;

const DROP_SNAPSHOT = 'DELETE FROM @run_snapshots WHERE run_id = $1 AND tenant_id = $2 AND rewrites <= $3';

/** Roles that append cannot change events themselves: the function does it with the rights of the owner, and counts it. */
const REDACT = 'SELECT @redact_event($1, $2, $3, $4) AS outcome';

const MARK_REMOVED = 'UPDATE @runs SET removed = $3 WHERE run_id = $1 AND tenant_id = $2';

/** What is being restored is no leftover. */
const IS_GONE = "removed IS NOT NULL AND removed ->> 'kind' <> 'restoring'";

const SELECT_LEFTOVERS = `
  SELECT tenant_id, run_id FROM @runs r
  WHERE ${IS_GONE}
    AND EXISTS (SELECT 1 FROM @run_events e WHERE e.run_id = r.run_id AND e.tenant_id = r.tenant_id)`;

const SELECT_LEFT = `
  SELECT 1 FROM @run_events WHERE run_id = $1 AND tenant_id = $2
    AND EXISTS (SELECT 1 FROM @runs WHERE run_id = $1 AND tenant_id = $2 AND ${IS_GONE})
  LIMIT 1`;

/** By comparison with one number: with a list of them, a table without statistics gets a plan that takes quadratic time. */
const DELETE_EVENTS = `
  DELETE FROM @run_events WHERE run_id = $1 AND tenant_id = $2 AND run_seq > (
    SELECT max(run_seq) - $3::bigint FROM @run_events WHERE run_id = $1 AND tenant_id = $2)
  AND EXISTS (SELECT 1 FROM @runs WHERE run_id = $1 AND tenant_id = $2 AND ${IS_GONE})`;

/** The column is an `integer`: a larger number would fail in the database. */
function isEpoch(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
}

/**
 * In the order of transactions, and never beyond the oldest one still open: an event that is about to be committed
 * behind a reader's cursor would be skipped for ever. Earlier epochs are complete. The link is asked for in the order of
 * sequences, so that the planner does not read a whole run for it by the index of keys.
 */
const SELECT_FEED = `
  SELECT e.epoch, e.xid::text, e.position, e.tenant_id, e.run_id,
    (SELECT b.link FROM @run_events b
     WHERE b.run_id = e.run_id AND b.tenant_id = e.tenant_id
       AND b.run_seq >= e.run_seq - e.commit_index AND b.run_seq <= e.run_seq - e.commit_index
     ORDER BY b.run_seq LIMIT 1) AS link_before,
    ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
  FROM @run_events e
  WHERE (e.epoch, e.xid, e.position) > ($1::int, $2::text::xid8, $3::bigint)
    AND (e.epoch < (SELECT max(epoch) FROM @feed_epochs) OR e.xid < pg_snapshot_xmin(pg_current_snapshot()))
    AND ${NOT_REMOVED}
  ORDER BY e.epoch, e.xid, e.position LIMIT $4`;

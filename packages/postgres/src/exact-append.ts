/**
 * The exact append: lock the head, look up the keys, decide, write. Used for fences, refusals, races and callers'
 * transactions.
 */
import {
  type AppendPlan,
  type ChainFormat,
  digestBytes,
  eventOfRow,
  firstLinkOf,
  isTombstone,
  planAppend,
  ROW_FIELDS,
  type RowValue,
  type RunAppend,
  type RunHead,
  type RunKey,
  rowOf,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import { beginLife, EVENT_COLUMNS, HEAD_COLUMNS, lockHead, NOW, valuesOfHead } from '@tidemark/sql';
import { columnType, FEED_POSITION, storedAtKey } from './append-sql.ts';
import type { OpenTransaction } from './database.ts';

const MAX_RACES = 20;
/** Number of events of an earlier life that one statement removes. */
const REMOVE_STEP = 1_000;

const FOR_UPDATE = { forUpdate: ' FOR UPDATE' } as const;

const FIND_KEYS = `
  SELECT ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
  FROM unnest(?::text[]) AS wanted (key)
  CROSS JOIN LATERAL ${storedAtKey('?', '?', 'wanted.key')} AS e`;

const NEW_HEAD = `
  INSERT INTO @runs (${HEAD_COLUMNS.join(', ')}, link_before, feed_epoch, feed_xid)
  VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')}, ?, (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id())
  ON CONFLICT (run_id, tenant_id) DO NOTHING`;

const MOVE_HEAD = `
  UPDATE @runs r SET status = ?, last_seq = ?, link = ?, link_before = ?, updated_at = ?,${FEED_POSITION}
  WHERE run_id = ? AND tenant_id = ?`;

const ADD_EVENTS = `
  INSERT INTO @run_events (tenant_id, run_id, ${EVENT_COLUMNS.join(', ')}, epoch, xid)
  SELECT r.tenant_id, r.run_id, e.*, r.feed_epoch, r.feed_xid FROM @runs r CROSS JOIN unnest(
    ${ROW_FIELDS.map((field) => `?::${columnType(field)}[]`).join(', ')}
  ) AS e WHERE r.tenant_id = ? AND r.run_id = ?`;

/** Appends inside an open transaction and returns the plan that it applied. Throws when nothing may be written. */
export async function appendExactly(tx: OpenTransaction, append: RunAppend, format: ChainFormat): Promise<AppendPlan> {
  const { run } = append;
  for (let race = 0; race < MAX_RACES; race++) {
    const head = await lockHead(tx, FOR_UPDATE, run);
    const stored = head === null || isTombstone(head) ? new Map<string, StoredRunEvent>() : await findKeys(tx, append);
    const [clock] = await tx.all<{ now: number }>(`SELECT ${NOW} AS now`, []);
    const plan = planAppend(append, head, stored, { now: clock!.now, format });
    if (plan.rows.length === 0) return plan;
    if (isTombstone(head)) await beginLife(tx, run, plan.head, REMOVE_STEP);
    if (!(await writeHead(tx, head as RunHead | null, plan.head))) continue;
    await addEvents(tx, run, plan.rows);
    return plan;
  }
  throw new Error(`Run ${run.runId} could not be locked`);
}

/** Writes events at the feed position of their run's head. */
export async function addEvents(
  tx: OpenTransaction,
  { tenantId, runId }: RunKey,
  events: readonly StoredRunEvent[],
): Promise<void> {
  const rows: RowValue[][] = events.map(rowOf);
  const columns = EVENT_COLUMNS.map((_, column) => rows.map((row) => row[column]!));
  await tx.run(ADD_EVENTS, [...columns, tenantId, runId]);
}

async function findKeys(tx: OpenTransaction, { run, events }: RunAppend): Promise<Map<string, StoredRunEvent>> {
  const keys = events.map((event) => event.idempotencyKey);
  const rows = await tx.arrays(FIND_KEYS, [keys, run.runId, run.tenantId]);
  return new Map(rows.map((row) => eventOfRow(row)).map((event) => [event.idempotencyKey, event]));
}

/** Returns false if another writer has created the run since it was read. */
async function writeHead(tx: OpenTransaction, before: RunHead | null, head: RunHead): Promise<boolean> {
  const linkBefore = digestBytes(before?.link ?? firstLinkOf(head.life));
  if (before === null) return (await tx.run(NEW_HEAD, [...valuesOfHead(head), linkBefore])) === 1;
  const { status, seq, link, updatedAt, runId, tenantId } = head;
  await tx.run(MOVE_HEAD, [status, seq, digestBytes(link), linkBefore, updatedAt, runId, tenantId]);
  return true;
}

/** Statements that read heads and events of runs. */
import {
  type CommitEnd,
  decodeNotice,
  digestOf,
  eventOfRow,
  type FeedEntry,
  type IntactEntry,
  type RunHead,
  type RunKey,
  type RunTombstone,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import type { SqlDatabase, SqlValue } from '../database.ts';
import type { SqlRunTransaction } from './database.ts';
import { EVENT_COLUMNS, HEAD_COLUMNS, headOf } from './rows.ts';

export const SELECT_HEAD = `SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE run_id = ? AND tenant_id = ?`;

export const SELECT_EVENTS = `
  SELECT ${EVENT_COLUMNS.join(', ')} FROM @run_events
  WHERE run_id = ? AND tenant_id = ? AND run_seq > ?
    AND NOT EXISTS (SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NOT NULL)
  ORDER BY run_seq LIMIT ?`;

export const SELECT_TENANTS = `
  SELECT tenant_id FROM @runs
  WHERE run_id = ? AND (removed IS NULL OR removed ->> 'kind' <> 'deleted') LIMIT 2`;

/** Reads the head inside a transaction. On engines with row locks, locks it until the end. */
export async function lockHead(
  tx: SqlRunTransaction,
  { forUpdate }: Pick<SqlDatabase, 'forUpdate'>,
  run: RunKey,
): Promise<RunHead | RunTombstone | null> {
  const [row] = await tx.arrays(SELECT_HEAD + forUpdate, [run.runId, run.tenantId]);
  return row ? headOf(row) : null;
}

export function eventsParams({ runId, tenantId }: RunKey, afterSeq: number, limit: number): SqlValue[] {
  return [runId, tenantId, afterSeq, runId, tenantId, limit];
}

/** Reads the log of a run as an open transaction sees it. */
export async function eventsInside(
  tx: SqlRunTransaction,
  run: RunKey,
  afterSeq: number,
  limit: number,
): Promise<StoredRunEvent[]> {
  return (await tx.arrays(SELECT_EVENTS, eventsParams(run, afterSeq, limit))).map((row) => eventOfRow(row));
}

/**
 * The columns of a feed row after its cursor, in the order of `feedEntry`. `endBefore` selects the end of the commit
 * before the event's own, as the text of `endText`.
 */
export function feedColumns(endBefore: string): string {
  return `e.tenant_id, e.run_id, (${endBefore}) AS end_before, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}`;
}

/** Returns SQL for the end of a commit as one text: its link in hex, which the caller passes as SQL, and its time. */
export function endText(hexOfLink: string, event: string): string {
  return `${hexOfLink} || ' ' || ${event}.persisted_at`;
}

/** Decodes a feed entry from a row whose `feedColumns` start at index `from`. */
export function feedEntry(cursor: string, row: readonly unknown[], from: number): IntactEntry {
  return {
    cursor,
    run: { tenantId: row[from] as string, runId: row[from + 1] as string },
    before: endOf(row[from + 2] as string | null),
    event: eventOfRow(row, from + 3),
  };
}

/** The names of the columns of `feedColumns`. */
export const FEED_COLUMNS = ['tenant_id', 'run_id', 'end_before', ...EVENT_COLUMNS];

/** The columns of a notice `n`, in the order of `feedColumns`. The text of the notice is a separate column. */
export const NOTICE_COLUMNS = ['n.tenant_id', 'n.run_id', ...FEED_COLUMNS.slice(2).map(() => 'NULL')].join(', ');

/** Decodes a row of a feed with notices, whose column before `feedColumns` is the text of a notice, or NULL. */
export function feedEntryOrNotice(cursor: string, row: readonly unknown[], from: number): FeedEntry {
  const notice = row[from - 1] as string | null;
  if (notice === null) return feedEntry(cursor, row, from);
  const run = { tenantId: row[from] as string, runId: row[from + 1] as string };
  return { cursor, run, notice: decodeNotice(notice) };
}

function endOf(text: string | null): CommitEnd | null {
  if (text === null) return null;
  return { link: digestOf(Buffer.from(text.slice(0, LINK_HEX), 'hex')), persistedAt: Number(text.slice(LINK_HEX + 1)) };
}

const LINK_HEX = 64;

/** A condition on the event `e`: its run has not been removed. */
export const NOT_REMOVED =
  'NOT EXISTS (SELECT 1 FROM @runs r WHERE r.run_id = e.run_id AND r.tenant_id = e.tenant_id AND r.removed IS NOT NULL)';

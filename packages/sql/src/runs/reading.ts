/** Statements that read heads and events of runs. */
import {
  digestOf,
  eventOfRow,
  FIRST_LINK,
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
 * The columns of a feed row after its cursor, in the order of `feedEntry`. `linkBefore` selects the link before the
 * commit.
 */
export function feedColumns(linkBefore: string): string {
  return `e.tenant_id, e.run_id, (${linkBefore}) AS link_before, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}`;
}

/** Decodes a feed entry from a row whose `feedColumns` start at index `from`. */
export function feedEntry(cursor: string, row: readonly unknown[], from: number): IntactEntry {
  const linkBefore = row[from + 2];
  return {
    cursor,
    run: { tenantId: row[from] as string, runId: row[from + 1] as string },
    linkBefore: linkBefore === null ? FIRST_LINK : digestOf(linkBefore),
    event: eventOfRow(row, from + 3),
  };
}

/** A condition on the event `e`: its run is not removed. */
export const NOT_REMOVED =
  'NOT EXISTS (SELECT 1 FROM @runs r WHERE r.run_id = e.run_id AND r.tenant_id = e.tenant_id AND r.removed IS NOT NULL)';

/** Removes runs: the tombstone in one step, the events in small steps, so that no lock is held for long. */
import {
  checkRemoval,
  type RemoveRunOptions,
  type RunHead,
  type RunKey,
  type RunTombstone,
} from '@tidemark/core/engine';
import type { SqlTransaction } from '../database.ts';
import { removeQuarantine } from '../quarantines.ts';
import { HEAD_COLUMNS, valuesOfHead } from './rows.ts';
import { removeSnapshot } from './snapshots.ts';

const BEGIN_LIFE = `
  UPDATE @runs SET ${HEAD_COLUMNS.slice(2)
    .map((column) => `${column} = ?`)
    .join(', ')} WHERE run_id = ? AND tenant_id = ?`;

const MARK_REMOVED = 'UPDATE @runs SET removed = ? WHERE run_id = ? AND tenant_id = ?';

/** A run that is being restored is not a leftover. */
const IS_GONE = "removed IS NOT NULL AND removed ->> 'kind' <> 'restoring'";

const RUN_IS_GONE = `EXISTS (SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND ${IS_GONE})`;

export const SELECT_LEFTOVERS = `
  SELECT tenant_id, run_id FROM @runs r
  WHERE ${IS_GONE}
    AND EXISTS (SELECT 1 FROM @run_events e WHERE e.run_id = r.run_id AND e.tenant_id = r.tenant_id)`;

const SELECT_LEFT = `SELECT 1 FROM @run_events WHERE run_id = ? AND tenant_id = ? AND ${RUN_IS_GONE} LIMIT 1`;

/**
 * Compares `run_seq` with a single number. A comparison with a list takes quadratic time in PostgreSQL on a table
 * without statistics.
 */
const DELETE_EVENTS = `
  DELETE FROM @run_events WHERE run_id = ? AND tenant_id = ? AND run_seq > (
    SELECT max(run_seq) - CAST(? AS bigint) FROM @run_events WHERE run_id = ? AND tenant_id = ?)
  AND ${RUN_IS_GONE}`;

/** Writes the tombstone of a run, which hides it from readers and writers. Returns false for an unknown run. */
export async function markRemoved(
  tx: SqlTransaction,
  run: RunKey,
  head: RunHead | RunTombstone | null,
  tombstone: RunTombstone,
  options: RemoveRunOptions,
): Promise<boolean> {
  const isThere = checkRemoval(run, head, tombstone, options);
  // An erasure names no life. Its tombstone gets the current life, so that an append cannot begin that life again if
  // the erasure is interrupted.
  const ofLife = { ...tombstone, ...(head && (head.life ?? 1) > 1 ? { life: head.life } : {}) };
  if (isThere) await tx.run(MARK_REMOVED, [tombstoneText(ofLife), run.runId, run.tenantId]);
  await removeSnapshot(tx, run);
  await removeQuarantine(tx, run);
  return isThere;
}

/** Returns the stored form of a tombstone. The row has `rewrites` in its own column. */
export function tombstoneText({ rewrites: _, ...tombstone }: RunTombstone): string {
  return JSON.stringify(tombstone);
}

/**
 * Begins the next life of a deleted run inside the transaction that has locked its head. Removes the events and the
 * snapshot of the earlier life before the new head becomes visible.
 */
export async function beginLife(tx: SqlTransaction, run: RunKey, head: RunHead, step: number): Promise<void> {
  while (await removeSomeEvents(tx, run, step)) {
    // The earlier removal was interrupted or is still running.
  }
  await removeSnapshot(tx, run);
  await removeQuarantine(tx, run);
  const [tenantId, runId, ...values] = valuesOfHead(head);
  await tx.run(BEGIN_LIFE, [...values, runId!, tenantId!]);
}

/**
 * Removes up to `step` events of a removed run. Returns true while events are left, including those that another
 * process is removing.
 */
export async function removeSomeEvents(tx: SqlTransaction, run: RunKey, step: number): Promise<boolean> {
  const key = [run.runId, run.tenantId];
  await tx.run(DELETE_EVENTS, [...key, step, ...key, ...key]);
  return (await tx.all(SELECT_LEFT, [...key, ...key])).length > 0;
}

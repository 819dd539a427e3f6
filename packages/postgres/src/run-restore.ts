/** Puts a run back into its tables, one transaction a part: what is hidden until the last part comes last in the feed as well. */
import {
  digestBytes,
  FIRST_LINK,
  isTombstone,
  planRestore,
  type RestoredPart,
  type RunHead,
  type RunKey,
  type RunTombstone,
} from '@tidemark/core/engine';
import { EVENT_COLUMNS, valuesOfEvent, valuesOfHead } from '@tidemark/sql';
import type pg from 'pg';
import { FEED_PLACE } from './append-sql.ts';
import { ADD_EVENTS, columnsOf, lockHead } from './exact-append.ts';
import type { Dialect } from './sql.ts';

export type RestoreOutcome = 'written' | 'there' | 'leftovers' | 'raced';

/**
 * Writes a part inside the client's open transaction. `leftovers` when events of the run that was removed before are still
 * to go, `raced` when another made the run since we looked: then nothing was written.
 */
export async function writePart(
  client: pg.ClientBase,
  dialect: Dialect,
  run: RunKey,
  part: RestoredPart,
  overDeleted: boolean | undefined,
): Promise<RestoreOutcome> {
  const place = [run.runId, run.tenantId];
  const head = await lockHead(client, dialect, run);
  const stored = await lastSeq(client, dialect, run);
  const plan = planRestore(run, part, { head, restored: stored }, { now: Date.now(), overDeleted });
  if (plan === null) return 'there';
  const isBegun = isTombstone(head) && head.kind === 'restoring';
  if (!isBegun && stored > 0) return 'leftovers';
  if (!(await hideHead(client, dialect, head, part.head, plan.tombstone))) return 'raced';
  // Readers of the feed may have passed where these stand: they go behind all that was given.
  if (part.isLast && isBegun) await client.query(dialect.script(PLACE_ANEW), place);
  if (plan.events.length > 0)
    await client.query(dialect.script(ADD_EVENTS), [
      run.tenantId,
      run.runId,
      ...columnsOf(plan.events.map(valuesOfEvent)),
    ]);
  if (!part.isLast) return 'written';
  // A snapshot that was stored while the run was gone may be of another history.
  await client.query(dialect.script('DELETE FROM @run_snapshots WHERE run_id = $1 AND tenant_id = $2'), place);
  const lastCommit = part.events.at(-1)!.runSeq - part.events.at(-1)!.commitIndex;
  await client.query(dialect.script(SHOW_HEAD), [...place, lastCommit, digestBytes(FIRST_LINK)]);
  return 'written';
}

async function lastSeq(client: pg.ClientBase, dialect: Dialect, run: RunKey): Promise<number> {
  const { rows } = await client.query(dialect.script(SELECT_LAST_SEQ), [run.runId, run.tenantId]);
  return Number(rows[0].seq);
}

/** The head as it will be, behind the tombstone; false when another has made the run since we looked. */
async function hideHead(
  client: pg.ClientBase,
  dialect: Dialect,
  before: RunHead | RunTombstone | null,
  head: RunHead,
  tombstone: RunTombstone,
): Promise<boolean> {
  const values = [...valuesOfHead(head).slice(0, -1), JSON.stringify(tombstone)];
  const { rowCount } = await client.query(dialect.script(before === null ? NEW_HEAD : CHANGE_HEAD), values);
  return rowCount === 1;
}

const SELECT_LAST_SEQ = 'SELECT coalesce(max(run_seq), 0) AS seq FROM @run_events WHERE run_id = $1 AND tenant_id = $2';

const NEW_HEAD = `
  INSERT INTO @runs (tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link,
    created_at, updated_at, labels, parent_run_id, rewrites, removed, link_before, feed_epoch, feed_xid)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $9,
    (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id())
  ON CONFLICT (run_id, tenant_id) DO NOTHING`;

const CHANGE_HEAD = `
  UPDATE @runs r SET project_id = $3, environment_id = $4, plan_id = $5, plan_version = $6, status = $7, last_seq = $8,
    link = $9, created_at = $10, updated_at = $11, labels = $12, parent_run_id = $13, rewrites = greatest(r.rewrites, $14),
    removed = $15,${FEED_PLACE}
  WHERE tenant_id = $1 AND run_id = $2`;

const SHOW_HEAD = `
  UPDATE @runs SET removed = NULL, rewrites = rewrites + 1, link_before = coalesce(
    (SELECT link FROM @run_events WHERE run_id = $1 AND tenant_id = $2 AND run_seq = $3), $4)
  WHERE run_id = $1 AND tenant_id = $2`;

const columns = EVENT_COLUMNS.join(', ');

const PLACE_ANEW = `
  WITH taken AS (DELETE FROM @run_events WHERE run_id = $1 AND tenant_id = $2 RETURNING ${columns})
  INSERT INTO @run_events (tenant_id, run_id, ${columns}, epoch, xid)
  SELECT r.tenant_id, r.run_id, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}, r.feed_epoch, r.feed_xid
  FROM taken e CROSS JOIN @runs r WHERE r.run_id = $1 AND r.tenant_id = $2
  ORDER BY e.run_seq`;

/** The exact way to append: lock the head, look the keys up, decide, write. For fences, refusals, races and callers' transactions. */
import {
  type AppendPlan,
  digestBytes,
  FIRST_LINK,
  isTombstone,
  planAppend,
  type RunAppend,
  type RunHead,
  type RunKey,
  type RunTombstone,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import { EVENT_COLUMNS, type EventValue, eventOf, HEAD_COLUMNS, headOf, valuesOfEvent } from '@tidemark/sql';
import type pg from 'pg';
import { FEED_PLACE, storedAtKey } from './append-sql.ts';
import { types } from './pool.ts';
import type { Dialect } from './sql.ts';

const MOST_RACES = 20;

const LOCK_HEAD = `SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE run_id = $1 AND tenant_id = $2 FOR UPDATE`;

const FIND_KEYS = `
  SELECT ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}
  FROM unnest($3::text[]) AS wanted (key)
  CROSS JOIN LATERAL ${storedAtKey('$1', '$2', 'wanted.key')} AS e`;

const NEW_HEAD = `
  INSERT INTO @runs (tenant_id, run_id, project_id, environment_id, plan_id, plan_version, status, last_seq, link,
    link_before, created_at, updated_at, labels, parent_run_id, feed_epoch, feed_xid)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
    (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id())
  ON CONFLICT (run_id, tenant_id) DO NOTHING RETURNING 1`;

const MOVE_HEAD = `
  UPDATE @runs r SET status = $3, last_seq = $4, link = $5, link_before = $6, updated_at = $7,${FEED_PLACE}
  WHERE run_id = $1 AND tenant_id = $2`;

export const ADD_EVENTS = `
  INSERT INTO @run_events (tenant_id, run_id, ${EVENT_COLUMNS.join(', ')}, epoch, xid)
  SELECT r.tenant_id, r.run_id, e.*, r.feed_epoch, r.feed_xid FROM @runs r CROSS JOIN unnest(
    $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[],
    $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::json[], $17::json[], $18::int[], $19::bytea[], $20::text[]
  ) AS e WHERE r.tenant_id = $1 AND r.run_id = $2`;

/** Appends inside the client's open transaction and returns the plan it carried out; throws why nothing may be written. The client may be a caller's own, which reads values its own way. */
export async function appendExactly(client: pg.ClientBase, dialect: Dialect, append: RunAppend): Promise<AppendPlan> {
  const { runId, tenantId } = append.run;
  for (let race = 0; race < MOST_RACES; race++) {
    const head = await lockHead(client, dialect, append.run);
    const stored = head === null ? new Map<string, StoredRunEvent>() : await findKeys(client, dialect, append);
    const { rows } = await client.query({ text: dialect.script('SELECT @tidemark_now() AS now'), types });
    const plan = planAppend(append, head, stored, rows[0].now);
    if (plan.rows.length === 0) return plan;
    if (!(await writeHead(client, dialect, head as RunHead | null, plan.head))) continue;
    const columns = columnsOf(plan.rows.map(valuesOfEvent));
    await client.query(dialect.script(ADD_EVENTS), [tenantId, runId, ...columns]);
    return plan;
  }
  throw new Error(`Run ${runId} could not be locked`);
}

/** Rows turned into the arrays that `ADD_EVENTS` takes. */
export function columnsOf(rows: readonly EventValue[][]): EventValue[][] {
  return EVENT_COLUMNS.map((_, column) => rows.map((row) => row[column]!));
}

export async function lockHead(
  client: pg.ClientBase,
  dialect: Dialect,
  run: RunKey,
): Promise<RunHead | RunTombstone | null> {
  const { rows } = await client.query({
    text: dialect.script(LOCK_HEAD),
    values: [run.runId, run.tenantId],
    rowMode: 'array',
    types,
  });
  return rows[0] ? headOf(rows[0]) : null;
}

async function findKeys(
  client: pg.ClientBase,
  dialect: Dialect,
  append: RunAppend,
): Promise<Map<string, StoredRunEvent>> {
  const keys = append.events.map((event) => event.idempotencyKey);
  const { rows } = await client.query({
    text: dialect.script(FIND_KEYS),
    values: [append.run.runId, append.run.tenantId, keys],
    rowMode: 'array',
    types,
  });
  return new Map(rows.map((row) => eventOf(row)).map((event) => [event.idempotencyKey, event]));
}

/** False when another has made the run since we looked. */
async function writeHead(
  client: pg.ClientBase,
  dialect: Dialect,
  before: RunHead | null,
  head: RunHead,
): Promise<boolean> {
  const link = digestBytes(head.link);
  const linkBefore = digestBytes(before && !isTombstone(before) ? before.link : FIRST_LINK);
  if (before) {
    await client.query(dialect.script(MOVE_HEAD), [
      head.runId,
      head.tenantId,
      head.status,
      head.seq,
      link,
      linkBefore,
      head.updatedAt,
    ]);
    return true;
  }
  const { rowCount } = await client.query(dialect.script(NEW_HEAD), [
    head.tenantId,
    head.runId,
    head.projectId,
    head.environmentId,
    head.planId,
    head.planVersion,
    head.status,
    head.seq,
    link,
    linkBefore,
    head.createdAt,
    head.updatedAt,
    JSON.stringify(head.labels),
    head.parentRunId,
  ]);
  return rowCount === 1;
}

/** Puts a run back into its tables, inside one transaction a part: what is hidden until the last part comes last in the feed as well. */
import { invalidArgument } from '@tidemark/core';
import {
  isTombstone,
  planRestore,
  type RestoredPart,
  type RunHead,
  type RunKey,
  type RunTombstone,
} from '@tidemark/core/engine';
import { EVENT_COLUMNS, type EventValue, HEAD_COLUMNS, valuesOfEvent, valuesOfHead } from '@tidemark/sql';
import type { Connection } from './connection.ts';

/** Events that are placed anew at a time: as many as memory should hold. */
const PLACE_STEP = 500;

export type RestoreOutcome = 'written' | 'there' | 'leftovers';

/** Writes a part; `leftovers` when events of the run that was removed before are still to go, and nothing was written. */
export function writePart(
  connection: Connection,
  run: RunKey,
  part: RestoredPart,
  head: RunHead | RunTombstone | null,
  options: { now: number; overDeleted?: boolean },
): RestoreOutcome {
  const place = [run.runId, run.tenantId] as const;
  const stored = connection.get<{ seq: number }>(SELECT_LAST_SEQ, ...place)?.seq ?? 0;
  const plan = planRestore(run, part, { head, restored: stored }, options);
  if (plan === null) return 'there';
  const isBegun = isTombstone(head) && head.kind === 'restoring';
  if (!isBegun && stored > 0) return 'leftovers';
  connection.run(HIDE_HEAD, ...valuesOfHead(part.head).slice(0, -1), JSON.stringify(plan.tombstone));
  if (part.isLast && isBegun) placeAnew(connection, run, stored);
  for (const event of plan.events) insert(connection, run, valuesOfEvent(event));
  if (!part.isLast) return 'written';
  // A snapshot that was stored while the run was gone may be of another history.
  connection.run('DELETE FROM run_snapshots WHERE run_id = ? AND tenant_id = ?', ...place);
  connection.run(SHOW_HEAD, ...place);
  return 'written';
}

/** Readers of the feed may have passed where these events stand: they get places behind all that was given. */
function placeAnew(connection: Connection, run: RunKey, stored: number): void {
  for (let from = 0; from < stored; from += PLACE_STEP) {
    const rows = connection.allArrays(TAKE_EVENTS, run.runId, run.tenantId, from, from + PLACE_STEP) as EventValue[][];
    rows.sort((a, b) => Number(a[0]) - Number(b[0]));
    for (const row of rows) insert(connection, run, row);
  }
}

function insert(connection: Connection, { tenantId, runId }: RunKey, values: EventValue[]): void {
  if (connection.run(INSERT_EVENT, tenantId, runId, ...values) === 1) return;
  throw invalidArgument(
    'idempotencyKey',
    'of one event only of a run',
    values[EVENT_COLUMNS.indexOf('idempotency_key')],
  );
}

const SELECT_LAST_SEQ = 'SELECT max(run_seq) AS seq FROM run_events WHERE run_id = ? AND tenant_id = ?';

/**
 * Inserts nothing where the key is stored already; the caller looks at how many rows changed. Not ON CONFLICT … DO NOTHING:
 * without a conflict clause of its own, an insert into a table with triggers keeps a statement journal, a fifth of its time.
 */
export const INSERT_EVENT = `
  INSERT OR IGNORE INTO run_events (tenant_id, run_id, ${EVENT_COLUMNS.join(', ')})
  VALUES (${Array(EVENT_COLUMNS.length + 2)
    .fill('?')
    .join(', ')})`;

const TAKE_EVENTS = `
  DELETE FROM run_events WHERE run_id = ? AND tenant_id = ? AND run_seq > ? AND run_seq <= ?
  RETURNING ${EVENT_COLUMNS.join(', ')}`;

/** The head as it will be, behind the tombstone. Its `rewrites` never falls below that of the run which was here before. */
const HIDE_HEAD = `
  INSERT INTO runs (${HEAD_COLUMNS.join(', ')}) VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET ${HEAD_COLUMNS.slice(2)
    .filter((column) => column !== 'rewrites')
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}, rewrites = max(runs.rewrites, excluded.rewrites)`;

const SHOW_HEAD = 'UPDATE runs SET removed = NULL, rewrites = rewrites + 1 WHERE run_id = ? AND tenant_id = ?';

/** The SQLite-specific parts of the shared run engine. */
import { invalidArgument } from '@tidemark/core';
import { type RowValue, type RunKey, rowOf, type StoredRunEvent } from '@tidemark/core/engine';
import { EVENT_COLUMNS, type RunDialect, type SqlTransaction } from '@tidemark/sql';
import type { Connection } from './connection.ts';
import type { OpenTransaction } from './database.ts';
import { redactInside } from './redaction.ts';

/** How many events to move in one step, to bound memory. */
const MOVE_STEP = 500;

/**
 * Inserts nothing if the key is already stored; the caller checks how many rows changed. Does not use ON CONFLICT … DO
 * NOTHING, because an insert into a table with triggers would then need a statement journal, which accounts for a fifth
 * of its time.
 */
export const INSERT_EVENT = `
  INSERT OR IGNORE INTO run_events (tenant_id, run_id, ${EVENT_COLUMNS.join(', ')})
  VALUES (${Array(EVENT_COLUMNS.length + 2)
    .fill('?')
    .join(', ')})`;

const TAKE_EVENTS = `
  DELETE FROM run_events WHERE run_id = ? AND tenant_id = ? AND run_seq > ? AND run_seq <= ?
  RETURNING ${EVENT_COLUMNS.join(', ')}`;

/** The table of the counter has no row before the first event. */
const INSERT_NOTICE = `
  INSERT INTO run_notices (after_event, tenant_id, run_id, notice)
  VALUES (coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'run_events'), 0), ?, ?, ?)`;

export const RUN_DIALECT: RunDialect<OpenTransaction> = {
  hasLabel: 'EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)',
  // A damaged head is reported and not filtered out, so malformed labels must not make the statement fail.
  lacksLabel:
    "CASE WHEN labels = '{}' OR NOT json_valid(labels) THEN 1 ELSE NOT EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ?) END",
  // One statement for a long page would block the event loop for more than ten milliseconds.
  listStep: 100,
  removeStep: 500,
  // An event's position in the feed is its rowid, so the head needs no extra columns.
  headColumns: '',
  headValues: '',
  headMoves: '',
  headShows: '',
  takeReleaseNumber,
  redact: redactInside,

  async addEvents({ connection }: OpenTransaction, run: RunKey, events: readonly StoredRunEvent[]): Promise<void> {
    for (const event of events) insert(connection, run, rowOf(event));
  },

  async addNotice({ connection }: OpenTransaction, { tenantId, runId }: RunKey, notice: string): Promise<void> {
    connection.run(INSERT_NOTICE, tenantId, runId, notice);
  },

  async moveToFeedEnd({ connection }: OpenTransaction, run: RunKey, upToSeq: number): Promise<void> {
    for (let from = 0; from < upToSeq; from += MOVE_STEP) {
      const rows = connection.allArrays(TAKE_EVENTS, run.runId, run.tenantId, from, from + MOVE_STEP) as RowValue[][];
      rows.sort((a, b) => Number(a[0]) - Number(b[0]));
      for (const row of rows) insert(connection, run, row);
    }
  },
};

function insert(connection: Connection, { tenantId, runId }: RunKey, values: RowValue[]): void {
  if (connection.run(INSERT_EVENT, tenantId, runId, ...values) === 1) return;
  throw invalidArgument(
    'idempotencyKey',
    'of one event only of a run',
    values[EVENT_COLUMNS.indexOf('idempotency_key')],
  );
}

/** Safe without a lock: there is only one writer at a time. */
async function takeReleaseNumber(tx: SqlTransaction): Promise<number> {
  const [row] = await tx.all<{ last: number }>('UPDATE @run_releases SET last = last + 1 RETURNING last', []);
  return row!.last;
}

/** The PostgreSQL-specific parts of the shared run engine. */
import type { RunKey, StoredRedaction } from '@tidemark/core/engine';
import {
  EVENT_COLUMNS,
  integerOf,
  type RedactionOutcome,
  type RunDialect,
  type SqlInteger,
  type SqlTransaction,
} from '@tidemark/sql';
import { FEED_POSITION, FIRST_LINK_BYTES } from './append-sql.ts';
import type { OpenTransaction } from './database.ts';
import { addEvents } from './exact-append.ts';

/** Roles that append cannot change events. This function redacts with the owner's rights and counts the redaction. */
const REDACT = 'SELECT @redact_event(?, ?, ?, ?) AS outcome';

const columns = EVENT_COLUMNS.join(', ');

const PLACE_ANEW = `
  WITH taken AS (DELETE FROM @run_events WHERE run_id = ? AND tenant_id = ? RETURNING ${columns})
  INSERT INTO @run_events (tenant_id, run_id, ${columns}, epoch, xid)
  SELECT r.tenant_id, r.run_id, ${EVENT_COLUMNS.map((column) => `e.${column}`).join(', ')}, r.feed_epoch, r.feed_xid
  FROM taken e CROSS JOIN @runs r WHERE r.run_id = ? AND r.tenant_id = ?
  ORDER BY e.run_seq`;

/** The link before the last commit of a run `r`. */
const LINK_BEFORE = `
  SELECT b.link FROM @run_events b
  WHERE b.run_id = r.run_id AND b.tenant_id = r.tenant_id AND b.run_seq = r.last_seq - (
    SELECT l.commit_index FROM @run_events l
    WHERE l.run_id = r.run_id AND l.tenant_id = r.tenant_id AND l.run_seq = r.last_seq)`;

/** Also moves the feed position of the head, because later events of the run must not precede the notice. */
const INSERT_NOTICE = `
  WITH head AS (
    UPDATE @runs AS r SET ${FEED_POSITION.trim()} WHERE run_id = ? AND tenant_id = ?
    RETURNING r.tenant_id, r.run_id, r.feed_epoch, r.feed_xid
  )
  INSERT INTO @run_notices (epoch, xid, tenant_id, run_id, notice)
  SELECT h.feed_epoch, h.feed_xid, h.tenant_id, h.run_id, ?::text FROM head h`;

export const RUN_DIALECT: RunDialect<OpenTransaction> = {
  hasLabel: 'labels ->> ?::text = ?',
  lacksLabel: 'labels ->> ?::text IS NULL',
  listStep: Number.POSITIVE_INFINITY,
  removeStep: 1_000,
  headColumns: ', link_before, feed_epoch, feed_xid',
  headValues: `, ${FIRST_LINK_BYTES}, (SELECT max(epoch) FROM @feed_epochs), pg_current_xact_id()`,
  headMoves: `,${FEED_POSITION}`,
  headShows: `, link_before = coalesce((${LINK_BEFORE}), ${FIRST_LINK_BYTES})`,

  /**
   * Takes the number under a lock that is held until the commit, because sequence numbers alone may be committed out of
   * order.
   */
  async takeReleaseNumber(tx: SqlTransaction): Promise<number> {
    await tx.all("SELECT pg_advisory_xact_lock('@run_releases'::regclass::oid::bigint)", []);
    const [row] = await tx.all<{ number: SqlInteger }>("SELECT nextval('@run_releases') AS number", []);
    return integerOf(row!.number);
  },

  async redact(
    tx: OpenTransaction,
    { tenantId, runId }: RunKey,
    runSeq: number,
    redaction: StoredRedaction,
  ): Promise<RedactionOutcome> {
    const params = [tenantId, runId, runSeq, JSON.stringify(redaction)];
    const [row] = await tx.all<{ outcome: RedactionOutcome }>(REDACT, params);
    return row!.outcome;
  },

  addEvents,

  async addNotice(tx: OpenTransaction, { runId, tenantId }: RunKey, notice: string): Promise<void> {
    await tx.run(INSERT_NOTICE, [runId, tenantId, notice]);
  },

  async moveToFeedEnd(tx: OpenTransaction, { runId, tenantId }: RunKey): Promise<void> {
    await tx.run(PLACE_ANEW, [runId, tenantId, runId, tenantId]);
  },
};

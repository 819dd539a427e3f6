/** Removes the payload of an event. The triggers allow no other update, and count each one. */
import type { RunKey, StoredRedaction } from '@tidemark/core/engine';
import type { RedactionOutcome, SqlTransaction } from '@tidemark/sql';

const SELECT_LIVE = 'SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NULL';

const REDACT = `
  UPDATE @run_events SET payload = NULL, redaction = ?
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NULL
  RETURNING run_seq`;

const IS_REDACTED = `
  SELECT run_seq FROM @run_events
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NOT NULL`;

/** Redacts an event in an open transaction. A second redaction of an event changes nothing. */
export async function redactInside(
  tx: SqlTransaction,
  { tenantId, runId }: RunKey,
  runSeq: number,
  redaction: StoredRedaction,
): Promise<RedactionOutcome> {
  const run = [runId, tenantId];
  if ((await tx.all(SELECT_LIVE, run)).length === 0) return 'missing';
  if ((await tx.all(REDACT, [JSON.stringify(redaction), ...run, runSeq])).length > 0) return 'changed';
  return (await tx.all(IS_REDACTED, [...run, runSeq])).length > 0 ? 'known' : 'missing';
}

/** Takes the payload out of an event in SQL: the one change that the triggers of the log let pass, and the run counts it. */
import type { RunKey, StoredRedaction } from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction } from './database.ts';

const LOCK_LIVE = 'SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NULL';

const REDACT = `
  UPDATE @run_events SET payload = NULL, redaction = ?
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NULL
  RETURNING run_seq`;

const IS_REDACTED = `
  SELECT run_seq FROM @run_events
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NOT NULL`;

const COUNT = 'UPDATE @runs SET rewrites = rewrites + 1 WHERE run_id = ? AND tenant_id = ? RETURNING rewrites';

/** `changed`: the payload went with this call; `known`: it had gone before; `missing`: there is no such event. */
export type RedactionOutcome = 'changed' | 'known' | 'missing';

/** The first redaction of an event stays. The head is locked first, as every writer of the run does. */
export async function redactInside(
  tx: SqlTransaction,
  { forUpdate }: Pick<SqlDatabase, 'forUpdate'>,
  { tenantId, runId }: RunKey,
  runSeq: number,
  redaction: StoredRedaction,
): Promise<RedactionOutcome> {
  const run = [runId, tenantId];
  if ((await tx.all(LOCK_LIVE + forUpdate, run)).length === 0) return 'missing';
  if ((await tx.all(REDACT, [JSON.stringify(redaction), ...run, runSeq])).length > 0) {
    await tx.all(COUNT, run);
    return 'changed';
  }
  return (await tx.all(IS_REDACTED, [...run, runSeq])).length > 0 ? 'known' : 'missing';
}

/** Takes the payload out of an event in SQL: the one change that the triggers of the log let pass. */
import type { EngineCall, RunKey, StoredRedaction } from '@tidemark/core/engine';
import type { SqlDatabase } from './database.ts';

const REDACT = `
  UPDATE @run_events SET payload = NULL, redaction = ?
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NULL
    AND EXISTS (SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NULL)
  RETURNING run_seq`;

const IS_REDACTED = `
  SELECT run_seq FROM @run_events
  WHERE run_id = ? AND tenant_id = ? AND run_seq = ? AND redaction IS NOT NULL
    AND EXISTS (SELECT 1 FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NULL)`;

/** The first redaction of an event stays; false for an event that is not there. */
export function redactEvent(
  db: SqlDatabase,
  { tenantId, runId }: RunKey,
  runSeq: number,
  redaction: StoredRedaction,
  call: EngineCall,
): Promise<boolean> {
  const place = [runId, tenantId, runSeq, runId, tenantId];
  return db.write(async (tx) => {
    if ((await tx.all(REDACT, [JSON.stringify(redaction), ...place])).length > 0) return true;
    return (await tx.all(IS_REDACTED, place)).length > 0;
  }, call);
}

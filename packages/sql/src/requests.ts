/** Responses to requests, kept for a while in addition to the records that the requests changed (GEN-8). */
import { type EngineCall, REQUEST_KEPT_MS } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from './database.ts';
import { batchesOf, placeholders, removeInSteps } from './statements.ts';

const REMOVE_AT_ONCE = 100;

/** An answer and its id. */
export interface Answer {
  id: string;
  answer: string;
}

const KEEP_NEW = `
  INSERT INTO @requests (tenant_id, id, answer, forget_at) VALUES (?, ?, ?, ${NOW} + ${REQUEST_KEPT_MS})
  ON CONFLICT (tenant_id, id) DO NOTHING
  RETURNING id`;

const REMOVE_OLD = `
  DELETE FROM @requests
  WHERE forget_at <= ${NOW} AND (tenant_id, id) IN (
    SELECT tenant_id, id FROM @requests WHERE forget_at <= ${NOW} ORDER BY forget_at LIMIT ?
  )
  RETURNING id`;

const ERASE = `
  DELETE FROM @requests WHERE tenant_id = ? AND id IN (SELECT id FROM @requests WHERE tenant_id = ? LIMIT ?)
  RETURNING id`;

/** Returns the answer stored under an id, or `null`. */
export async function answerOf(tx: SqlTransaction, tenantId: string, id: string): Promise<string | null> {
  const sql = 'SELECT answer FROM @requests WHERE tenant_id = ? AND id = ?';
  const [row] = await tx.all<{ answer: string }>(sql, [tenantId, id]);
  return row?.answer ?? null;
}

/** Keeps answers until five minutes from now, or from another time. Extends answers that are already kept. */
export async function keepAnswers(
  tx: SqlTransaction,
  tenantId: string,
  answers: readonly Answer[],
  from: number | null = null,
): Promise<void> {
  const [end, until] = from === null ? [`${NOW} + ${REQUEST_KEPT_MS}`, []] : ['?', [from + REQUEST_KEPT_MS]];
  // Sorted, so that two transactions never deadlock.
  for (const batch of batchesOf(answers.toSorted((a, b) => (a.id < b.id ? -1 : 1)))) {
    const sql = `
      INSERT INTO @requests AS stored (tenant_id, id, answer, forget_at)
      VALUES ${placeholders(batch.length, `(?, ?, ?, ${end})`)}
      ON CONFLICT (tenant_id, id) DO UPDATE SET forget_at = excluded.forget_at`;
    await tx.all(
      sql,
      batch.flatMap(({ id, answer }) => [tenantId, id, answer, ...until]),
    );
  }
}

/** Stores an answer unless one is stored under its id. Returns whether it did. */
export async function keepNewAnswer(tx: SqlTransaction, tenantId: string, { id, answer }: Answer): Promise<boolean> {
  return (await tx.all(KEEP_NEW, [tenantId, id, answer])).length > 0;
}

/** Removes up to `limit` answers that have expired and returns how many. */
export function removeOldAnswers(db: SqlDatabase, limit: number, call: EngineCall): Promise<number> {
  return removeInSteps(limit, REMOVE_AT_ONCE, async (most) => {
    return (await db.write((tx) => tx.all(REMOVE_OLD, [most]), call)).length;
  });
}

/** Removes all answers of a tenant. */
export async function eraseAnswers(db: SqlDatabase, tenantId: string, call: EngineCall): Promise<void> {
  const erase = () => db.write((tx) => tx.all(ERASE, [tenantId, tenantId, REMOVE_AT_ONCE]), call);
  while ((await erase()).length > 0);
}

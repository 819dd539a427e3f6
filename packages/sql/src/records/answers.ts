/**
 * Records of the space `requests` in SQL: a row with the single field `answer` and the time to remove it. They have no
 * revision, are never scanned or watched, and are changed in the same transaction as the record they belong to.
 */
import type { EngineCall, RecordName, RecordState, RecordWrite, StoredRecord } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';
import { Raced } from './races.ts';
import { storedRecord } from './rows.ts';
import type { Seen } from './seen.ts';

interface AnswerRow {
  answer: string;
  forget_at: SqlInteger;
  now: SqlInteger;
}

const FIELD = 'answer';
const LOOK = `SELECT answer, forget_at, ${NOW} AS now FROM @requests WHERE tenant_id = ? AND id = ?`;

/** Inserts a row that was absent when read, or updates a row that is locked. */
const SAVE = `
  INSERT INTO @requests AS stored (tenant_id, id, answer, forget_at) VALUES (?, ?, ?, ${NOW} + ?)
  ON CONFLICT (tenant_id, id) DO UPDATE SET answer = excluded.answer, forget_at = excluded.forget_at
  WHERE stored.forget_at = ?
  RETURNING answer, forget_at, ${NOW} AS now`;

export async function lookAtAnswer(db: SqlDatabase, tx: SqlTransaction, name: RecordName): Promise<Seen> {
  const [row] = await tx.all<AnswerRow>(LOOK + db.forUpdate, [name.tenantId, name.key]);
  if (!row) return { state: undefined, hasFields: true, storedRevision: 0, requests: [], now: 0 };
  const now = integerOf(row.now);
  return { state: answerIn(row), hasFields: true, storedRevision: integerOf(row.forget_at), requests: [], now };
}

/** Reads a response outside any transaction. */
export async function readAnswer(db: SqlDatabase, name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
  const [row] = await db.read<AnswerRow>(LOOK, [name.tenantId, name.key], call);
  const state = row && answerIn(row);
  return state ? storedRecord(state, integerOf(row.now)) : null;
}

export async function saveAnswer(tx: SqlTransaction, write: RecordWrite, before: Seen): Promise<Seen> {
  const answer = write.set.get(FIELD);
  if (write.mode !== 'replace' || !answer || !write.ttlMs)
    throw new Error('An answer is written whole and with an end');
  const { tenantId, key } = write.name;
  const params = [tenantId, key, Buffer.from(answer).toString(), write.ttlMs, before.storedRevision];
  const [row] = await tx.all<AnswerRow>(SAVE, params);
  if (!row) throw new Raced('Another answer was kept meanwhile');
  const [storedRevision, now] = [integerOf(row.forget_at), integerOf(row.now)];
  return { state: answerIn(row), hasFields: true, storedRevision, requests: [], now };
}

/** Converts a row to a record; `undefined` once it has expired. */
function answerIn({ answer, forget_at, now }: AnswerRow): RecordState | undefined {
  const expiresAt = integerOf(forget_at);
  if (expiresAt <= integerOf(now)) return undefined;
  return { fields: new Map([[FIELD, Buffer.from(answer)]]), revision: expiresAt, expiresAt };
}

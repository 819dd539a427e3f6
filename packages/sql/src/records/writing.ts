/** Brings the fields of a record, and the places of a job, from what they were to what a step makes of them. */
import { type Fields, placesOf, type RecordName, type RecordState, type RecordWrite } from '@tidemark/core/engine';
import type { SqlTransaction } from '../database.ts';
import { batchesOf, placeholders } from '../statements.ts';
import { fieldSum } from './sums.ts';

export const OF_RECORD = 'WHERE tenant_id = ? AND key = ?';
export const REMOVE_FIELDS = `DELETE FROM @kv_fields ${OF_RECORD}`;

/**
 * Writes the fields that the step names, with sums that begin with `start`, and removes those that were there; a merge has
 * always read them.
 */
export async function writeFields(
  tx: SqlTransaction,
  write: RecordWrite,
  start: number,
  after: Fields,
  before: Fields | undefined,
): Promise<void> {
  const { tenantId, key } = write.name;
  const values: [string, Uint8Array][] = [];
  const removed: string[] = [];
  for (const field of new Set([...write.set.keys(), ...(write.stamps?.keys() ?? [])])) {
    const value = after.get(field);
    if (value !== undefined) values.push([field, value]);
    else if (before?.has(field)) removed.push(field);
  }
  for (const batch of batchesOf(removed)) {
    const sql = `${REMOVE_FIELDS} AND field IN (${placeholders(batch.length, '?')})`;
    await tx.all(sql, [tenantId, key, ...batch]);
  }
  for (const batch of batchesOf(values)) {
    const sql = `
      INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
      VALUES ${placeholders(batch.length, '(?, ?, ?, ?, ?)')}
      ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value, sum = excluded.sum`;
    await tx.all(
      sql,
      batch.flatMap(([field, value]) => [tenantId, key, field, value, fieldSum(start, field, value)]),
    );
  }
}

/** Brings a job's entries in the index up to date; an expired or damaged record may have left some. */
export async function movePlaces(
  tx: SqlTransaction,
  { tenantId, key }: RecordName,
  before: { state: RecordState | undefined; storedRevision: number; damaged?: true },
  after: RecordState | undefined,
): Promise<void> {
  const old = before.state ? placesOf(key, before.state.fields) : [];
  const now = after ? placesOf(key, after.fields) : [];
  const gone = old.filter((place) => !now.includes(place));
  const isUnknown = before.damaged || (!before.state && before.storedRevision > 0);
  if (isUnknown) await tx.all(`DELETE FROM @kv_places ${OF_RECORD}`, [tenantId, key]);
  for (const batch of batchesOf(gone)) {
    const places = placeholders(batch.length, '?');
    await tx.all(`DELETE FROM @kv_places WHERE tenant_id = ? AND key = ? AND place IN (${places})`, [
      tenantId,
      key,
      ...batch,
    ]);
  }
  const added = now.filter((place) => !old.includes(place));
  for (const batch of batchesOf(added)) {
    await tx.all(
      `INSERT INTO @kv_places (tenant_id, place, key) VALUES ${placeholders(batch.length, '(?, ?, ?)')}`,
      batch.flatMap((place) => [tenantId, place, key]),
    );
  }
}

/** Updates the field rows of a record, and the index entries of a job, from the old state to the new one. */
import { type Fields, indexKeysOf, type RecordName, type RecordState, type RecordWrite } from '@tidemark/core/engine';
import type { SqlTransaction } from '../database.ts';
import { batchesOf, bySize, placeholders } from '../statements.ts';
import { fieldSum } from './sums.ts';

export const OF_RECORD = 'WHERE tenant_id = ? AND key = ?';
export const REMOVE_RECORD = `DELETE FROM @kv_records ${OF_RECORD}`;
export const REMOVE_FIELDS = `DELETE FROM @kv_fields ${OF_RECORD}`;
const REMOVE_PLACES = `DELETE FROM @kv_places ${OF_RECORD}`;

const removeSomeFields = bySize((fields) => `${REMOVE_FIELDS} AND field IN (${placeholders(fields, '?')})`);
const removeSomeIndexKeys = bySize((places) => `${REMOVE_PLACES} AND place IN (${placeholders(places, '?')})`);
const addIndexKeys = bySize(
  (places) => `INSERT INTO @kv_places (tenant_id, place, key) VALUES ${placeholders(places, '(?, ?, ?)')}`,
);
const saveFields = bySize(
  (fields) => `
    INSERT INTO @kv_fields (tenant_id, key, field, value, sum)
    VALUES ${placeholders(fields, '(?, ?, ?, ?, ?)')}
    ON CONFLICT (tenant_id, key, field) DO UPDATE SET value = excluded.value, sum = excluded.sum`,
);

/**
 * Writes the fields of the step, with checksums that start with `start`, and removes the fields that the step drops.
 * For a merge, the fields must have been read.
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
  for (const batch of batchesOf(removed)) await tx.run(removeSomeFields(batch.length), [tenantId, key, ...batch]);
  for (const batch of batchesOf(values)) {
    await tx.run(
      saveFields(batch.length),
      batch.flatMap(([field, value]) => [tenantId, key, field, value, fieldSum(start, field, value)]),
    );
  }
}

/** Returns the index entries that a job loses and the index entries that it gains. */
export function movedIndexKeys(
  key: string,
  before: RecordState | undefined,
  after: RecordState | undefined,
): { gone: string[]; added: string[] } {
  const old = before ? indexKeysOf(key, before.fields) : [];
  const now = after ? indexKeysOf(key, after.fields) : [];
  return {
    gone: old.filter((indexKey) => !now.includes(indexKey)),
    added: now.filter((indexKey) => !old.includes(indexKey)),
  };
}

/** Whether the index may have entries that cannot be derived from the record, because it has expired or is damaged. */
export function hidesIndexKeys(before: {
  state: RecordState | undefined;
  storedRevision: number;
  damaged?: true;
}): boolean {
  return before.damaged || (!before.state && before.storedRevision > 0);
}

/** Updates a job's index entries. An expired or damaged record may have left entries behind. */
export async function moveIndexKeys(
  tx: SqlTransaction,
  { tenantId, key }: RecordName,
  before: { state: RecordState | undefined; storedRevision: number; damaged?: true },
  after: RecordState | undefined,
): Promise<void> {
  const { gone, added } = movedIndexKeys(key, before.state, after);
  if (hidesIndexKeys(before)) await tx.run(REMOVE_PLACES, [tenantId, key]);
  for (const batch of batchesOf(gone)) await tx.run(removeSomeIndexKeys(batch.length), [tenantId, key, ...batch]);
  for (const batch of batchesOf(added)) {
    await tx.run(
      addIndexKeys(batch.length),
      batch.flatMap((indexKey) => [tenantId, indexKey, key]),
    );
  }
}

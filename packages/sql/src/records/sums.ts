/**
 * Checksums of records in SQL. Each field has a checksum, for reads of that field alone. The record has a checksum that
 * combines these checksums with its revision and expiry, which detects field rows that were lost, renamed or left
 * behind.
 */
import { type RecordState, sumBytes, sumInteger, sumName } from '@tidemark/core/engine';

const START = sumName('kv', 0);

/** The start value for the checksums of a record and its fields. */
export function recordStart(tenantId: string, key: string): number {
  return sumName(key, sumName(tenantId, START));
}

export function fieldSum(start: number, field: string, value: Uint8Array): number {
  return sumBytes(value, sumName(field, start));
}

export function recordSum(start: number, { fields, revision, expiresAt }: RecordState): number {
  let sum = sumInteger(expiresAt, sumInteger(revision, start));
  for (const [field, value] of fields) sum = (sum + fieldSum(start, field, value)) | 0;
  return sum;
}

/**
 * Whether a record matches its checksum and has at least one field. Records that were stored before checksums existed
 * count as intact.
 */
export function isIntact(tenantId: string, key: string, state: RecordState, sum: number | null): boolean {
  return state.fields.size > 0 && (sum === null || recordSum(recordStart(tenantId, key), state) === sum);
}

/**
 * Checksums of records in SQL. Each field has a sum, for reads of that field alone; the record has the total of them with its
 * revision and expiry, so that a field row that was lost, renamed or left behind is found too.
 */
import { type RecordState, sumBytes, sumInteger, sumName } from '@tidemark/core/engine';

const START = sumName('kv', 0);

/** The sum that those of a record and its fields begin with. */
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

/** Whether a record is what was stored: it has at least one field and, unless it is from before sums, the right one. */
export function isIntact(tenantId: string, key: string, state: RecordState, sum: number | null): boolean {
  return state.fields.size > 0 && (sum === null || recordSum(recordStart(tenantId, key), state) === sum);
}

/** How records come out of their two tables: one row per field, gathered by key. */
import type { RecordState, ScannedRecord, StoredRecord } from '@tidemark/core/engine';
import { NOW } from '../database.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';

/** A field with its record, as joined rows give it. */
export interface FieldRow {
  key: string;
  revision: SqlInteger;
  expires_at: SqlInteger | null;
  now: SqlInteger;
  field: string;
  value: Uint8Array;
}

/** What has expired is invisible from that millisecond on (KV-2). */
export const IS_LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

/** The records of rows that come in order of keys, each with the milliseconds it has left. */
export function gatherRecords(rows: readonly FieldRow[]): ScannedRecord[] {
  const records: (ScannedRecord & { fields: Map<string, Uint8Array> })[] = [];
  for (const row of rows) {
    let record = records.at(-1);
    if (record?.key !== row.key) {
      const expiresAt = integerOrNull(row.expires_at);
      const ttlMs = expiresAt === null ? null : expiresAt - integerOf(row.now);
      record = { key: row.key, fields: new Map(), revision: integerOf(row.revision), ttlMs };
      records.push(record);
    }
    record.fields.set(row.field, row.value);
  }
  return records;
}

/** A record as it stands at a time. */
export function storedRecord(state: RecordState, now: number): StoredRecord {
  const ttlMs = state.expiresAt === null ? null : state.expiresAt - now;
  return { fields: state.fields, revision: state.revision, ttlMs };
}

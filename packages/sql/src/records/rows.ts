/** How records come out of their two tables: one row per field, gathered by key. */
import type { PlacedRecord, RecordState, ScannedRecord, StoredRecord } from '@tidemark/core/engine';
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
  return gather(rows, (last, row) => last.key === row.key, recordOf);
}

/** The same for rows in order of places, then keys. */
export function gatherPlaced(rows: readonly (FieldRow & { place: string })[]): PlacedRecord[] {
  const begin = (row: FieldRow & { place: string }) => ({ place: row.place, ...recordOf(row) });
  return gather(rows, (last, row) => last.key === row.key && last.place === row.place, begin);
}

type Gathered = ScannedRecord & { fields: Map<string, Uint8Array> };

/** Rows of the same record follow each other; the first one begins it. */
function gather<Row extends FieldRow, Found extends Gathered>(
  rows: readonly Row[],
  isOf: (found: NoInfer<Found>, row: Row) => boolean,
  begin: (row: Row) => Found,
): Found[] {
  const records: Found[] = [];
  for (const row of rows) {
    let record = records.at(-1);
    if (!record || !isOf(record, row)) {
      record = begin(row);
      records.push(record);
    }
    record.fields.set(row.field, row.value);
  }
  return records;
}

function recordOf(row: FieldRow): Gathered {
  const expiresAt = integerOrNull(row.expires_at);
  const ttlMs = expiresAt === null ? null : expiresAt - integerOf(row.now);
  return { key: row.key, fields: new Map(), revision: integerOf(row.revision), ttlMs };
}

/** A record as it stands at a time. */
export function storedRecord(state: RecordState, now: number): StoredRecord {
  const ttlMs = state.expiresAt === null ? null : state.expiresAt - now;
  return { fields: state.fields, revision: state.revision, ttlMs };
}

/** Converts joined rows of the two tables, one per field, to records, and compares them with their checksums. */
import type { IndexedRecord, RecordState, ScannedRecord, StoredRecord } from '@tidemark/core/engine';
import { NOW } from '../database.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';
import { isIntact } from './sums.ts';

/** A field joined with its record. The field is null when the record has lost all its fields. */
export interface FieldRow {
  key: string;
  revision: SqlInteger;
  expires_at: SqlInteger | null;
  sum: number | null;
  /** 0 for a record that does not expire. */
  now: SqlInteger;
  field: string | null;
  value: Uint8Array | null;
}

/** A record is invisible from the millisecond of its expiry onwards (KV-2). */
export const IS_LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

/** The store's time if the record expires, else 0. On SQLite every read of the clock is a call into JavaScript. */
export const NOW_IF_EXPIRING = `CASE WHEN expires_at IS NULL THEN 0 ELSE ${NOW} END AS now`;

const NO_FIELDS: ReadonlyMap<string, Uint8Array> = new Map();

/** Groups rows ordered by key into records, each with its remaining milliseconds. */
export function gatherRecords(tenantId: string, rows: readonly FieldRow[]): ScannedRecord[] {
  const records: ScannedRecord[] = [];
  for (let from = 0; from < rows.length; ) {
    let to = from + 1;
    while (to < rows.length && rows[to]!.key === rows[from]!.key) to++;
    records.push(recordOf(tenantId, rows, from, to));
    from = to;
  }
  return records;
}

/** Like `gatherRecords`, for rows ordered by index key, then key. */
export function gatherIndexSteps(tenantId: string, rows: readonly (FieldRow & { place: string })[]): IndexedRecord[] {
  const records: IndexedRecord[] = [];
  for (let from = 0; from < rows.length; ) {
    const { place, key } = rows[from]!;
    let to = from + 1;
    while (to < rows.length && rows[to]!.key === key && rows[to]!.place === place) to++;
    records.push({ indexKey: place, ...recordOf(tenantId, rows, from, to) });
    from = to;
  }
  return records;
}

/** A record without its fields. */
export type KeyRow = Pick<FieldRow, 'key' | 'revision' | 'expires_at' | 'now'>;

/** Converts rows without fields. A flipped bit of a SQLite row can turn the key into something other than text. */
export function keysOf(rows: readonly KeyRow[]): ScannedRecord[] {
  return rows.map(({ key, revision, expires_at, now }) => {
    const ttlMs = expires_at === null ? null : integerOf(expires_at) - integerOf(now);
    const record: ScannedRecord = { key, fields: NO_FIELDS, revision: integerOf(revision), ttlMs };
    return typeof key === 'string' ? record : { ...record, damaged: true };
  });
}

type StateRow = Pick<FieldRow, 'revision' | 'expires_at' | 'field' | 'value'>;

/** Converts consecutive rows to one record. */
function recordOf(tenantId: string, rows: readonly FieldRow[], from: number, to: number): ScannedRecord {
  const { key, sum, now } = rows[from]!;
  const state = stateOf(rows, from, to);
  const { fields, revision, expiresAt } = state;
  const record: ScannedRecord = {
    key,
    fields,
    revision,
    ttlMs: expiresAt === null ? null : expiresAt - integerOf(now),
  };
  if (typeof key !== 'string' || !isIntact(tenantId, key, state, sum))
    return { ...record, fields: NO_FIELDS, damaged: true };
  if (sum === null) record.unsummed = true;
  return record;
}

/**
 * Converts joined rows to a record, whether it is intact or not. Skips a field whose name is not text, which a flipped
 * bit of a SQLite row can cause; the record's checksum then fails.
 */
export function stateOf(rows: readonly StateRow[], from = 0, to = rows.length): RecordState {
  const fields = new Map<string, Uint8Array>();
  for (let at = from; at < to; at++) {
    const { field, value } = rows[at]!;
    if (typeof field === 'string' && typeof value === 'object' && value !== null) fields.set(field, value);
  }
  const { revision, expires_at } = rows[from]!;
  return { fields, revision: integerOf(revision), expiresAt: integerOrNull(expires_at) };
}

/** Returns the record as of a time. */
export function storedRecord(state: RecordState, now: number): StoredRecord {
  const ttlMs = state.expiresAt === null ? null : state.expiresAt - now;
  return { fields: state.fields, revision: state.revision, ttlMs };
}

/** How records come out of their two tables: one row per field, gathered by key and compared with their checksums. */
import type { PlacedRecord, RecordState, ScannedRecord, StoredRecord } from '@tidemark/core/engine';
import { NOW } from '../database.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';
import { isIntact } from './sums.ts';

/** A field with its record, as joined rows give it; without a field for a record that has lost all of them. */
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

/** What has expired is invisible from that millisecond on (KV-2). */
export const IS_LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

/** The store's time where the record expires, else 0: on SQLite every look at the clock is a call into JavaScript. */
export const NOW_IF_EXPIRING = `CASE WHEN expires_at IS NULL THEN 0 ELSE ${NOW} END AS now`;

/** The records of rows that come in order of keys, each with the milliseconds it has left. */
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

/** The same for rows in order of places, then keys. */
export function gatherPlaced(tenantId: string, rows: readonly (FieldRow & { place: string })[]): PlacedRecord[] {
  const records: PlacedRecord[] = [];
  for (let from = 0; from < rows.length; ) {
    const { place, key } = rows[from]!;
    let to = from + 1;
    while (to < rows.length && rows[to]!.key === key && rows[to]!.place === place) to++;
    records.push({ place, ...recordOf(tenantId, rows, from, to) });
    from = to;
  }
  return records;
}

type StateRow = Pick<FieldRow, 'revision' | 'expires_at' | 'field' | 'value'>;

const NO_FIELDS: ReadonlyMap<string, Uint8Array> = new Map();

/** The record of some rows that follow each other. */
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
 * The record that joined rows speak of, whether it is intact or not. A field whose name is not text, as a flipped bit of a SQLite
 * row can make it, is left out; the sum of the record tells.
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

/** A record as it stands at a time. */
export function storedRecord(state: RecordState, now: number): StoredRecord {
  const ttlMs = state.expiresAt === null ? null : state.expiresAt - now;
  return { fields: state.fields, revision: state.revision, ttlMs };
}

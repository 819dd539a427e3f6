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
  now: SqlInteger;
  field: string | null;
  value: Uint8Array | null;
}

/** What has expired is invisible from that millisecond on (KV-2). */
export const IS_LIVE = `(expires_at IS NULL OR expires_at > ${NOW})`;

/** The records of rows that come in order of keys, each with the milliseconds it has left. */
export function gatherRecords(tenantId: string, rows: readonly FieldRow[]): ScannedRecord[] {
  const records: ScannedRecord[] = [];
  for (const of of groups(rows, (first, row) => first.key === row.key)) records.push(recordOf(tenantId, of));
  return records;
}

/** The same for rows in order of places, then keys. */
export function gatherPlaced(tenantId: string, rows: readonly (FieldRow & { place: string })[]): PlacedRecord[] {
  const records: PlacedRecord[] = [];
  for (const of of groups(rows, (first, row) => first.key === row.key && first.place === row.place))
    records.push({ place: of[0]!.place, ...recordOf(tenantId, of) });
  return records;
}

/** Rows of the same record follow each other. */
function* groups<Row extends FieldRow>(
  rows: readonly Row[],
  isSame: (first: Row, row: Row) => boolean,
): Generator<readonly Row[]> {
  for (let from = 0; from < rows.length; ) {
    let to = from + 1;
    while (to < rows.length && isSame(rows[from]!, rows[to]!)) to++;
    yield rows.slice(from, to);
    from = to;
  }
}

type StateRow = Pick<FieldRow, 'revision' | 'expires_at' | 'field' | 'value'>;

const NO_FIELDS: ReadonlyMap<string, Uint8Array> = new Map();

function recordOf(tenantId: string, rows: readonly FieldRow[]): ScannedRecord {
  const { key, sum, now } = rows[0]!;
  const state = stateOf(rows);
  const record = { key, ...storedRecord(state, state.expiresAt === null ? 0 : integerOf(now)) };
  if (!isIntact(tenantId, key, state, sum)) return { ...record, fields: NO_FIELDS, damaged: true };
  return sum === null ? { ...record, unsummed: true } : record;
}

/** The record that joined rows speak of, whether it is intact or not. */
export function stateOf(rows: readonly StateRow[]): RecordState {
  const fields = new Map<string, Uint8Array>();
  for (const { field, value } of rows) if (field !== null) fields.set(field, value!);
  const { revision, expires_at } = rows[0]!;
  return { fields, revision: integerOf(revision), expiresAt: integerOrNull(expires_at) };
}

/** A record as it stands at a time. */
export function storedRecord(state: RecordState, now: number): StoredRecord {
  const ttlMs = state.expiresAt === null ? null : state.expiresAt - now;
  return { fields: state.fields, revision: state.revision, ttlMs };
}

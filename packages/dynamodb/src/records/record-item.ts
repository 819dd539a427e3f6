/**
 * A record as an item, with the attributes `k` key, `o` tenant, `r` revision, `f` fields, `x` when it expires, `q` the
 * last request ids, `l` when ids were last moved elsewhere, `w` and `w1` to `w7` the ids of the last writes, `d` when it
 * was deleted, `e` when DynamoDB may remove it, `g` and `n` the parts of fields that are too large for an item. A
 * deleted record stays as a marker with its revision and request ids until DynamoDB removes it.
 */
import {
  type Fields,
  REQUEST_KEPT_MS,
  type RecordName,
  type RecordState,
  type RecordWrite,
  type ScannedRecord,
  type StoredRecord,
} from '@tidemark/core/engine';
import { type Item, itemBytes, type OwnWrite } from '../client.ts';
import { joined, recordPartition, sortKey } from '../keys.ts';
import { checkFields, summed, sumOfName } from './field-sums.ts';
import { historyItem, mayBeForgotten, writesOf } from './write-history.ts';

/** The state of a key that was read before a step. */
export interface Found {
  /** The ids of the last writes, newest first. Empty when there is no item. */
  writes: readonly Buffer[];
  revision: number;
  fields: Fields;
  expiresAt: number | null;
  isDeleted: boolean;
  requests: readonly string[];
  /** When request ids were last stored outside the record, in milliseconds. */
  leftAt: number | null;
  /** The parts that hold the fields. */
  parts: PartsOf | null;
  /** Set when a field does not match its checksum. `fields` omits such fields. */
  damaged?: true;
}

export interface PartsOf {
  id: string;
  count: number;
}

/** Precedes the names of fields, so that no field has a name with a special meaning, such as `__proto__`. */
const FIELD = ':';
/** The maximum size of fields. Items may have 400 KB; the rest is left for keys, request ids and rounding. */
export const MAX_FIELDS_BYTES = 370 * 1024;
/** Deleted and expired records are kept at least this long after the last time at which a request id is needed. */
const MARGIN_MS = 3_600_000;
const NO_FIELDS: Fields = new Map();

const ABSENT: Found = {
  writes: [],
  revision: 0,
  fields: NO_FIELDS,
  expiresAt: null,
  isDeleted: true,
  requests: [],
  leftAt: null,
  parts: null,
};

/**
 * Recognises a write by its id, or by its request id once many other writes have followed. A write without conditions
 * may be applied again: its call is still in progress, so it may as well take effect last.
 */
export function ownWrite(writeId: Buffer, { requestId, expect }: Pick<RecordWrite, 'requestId' | 'expect'>): OwnWrite {
  return {
    isIn: (item) =>
      writesOf(item).some((id) => id.equals(writeId)) ||
      (item.q?.L ?? []).some(({ S }) => S !== undefined && S === requestId),
    mayPrecede: (item) => expect !== undefined && mayBeForgotten(writeId, writesOf(item)),
  };
}

/** Returns the key of a record's item. */
export function recordKey({ space, tenantId, key }: RecordName): { p: { B: Buffer }; s: { B: Buffer } } {
  return { p: { B: recordPartition('r', space, tenantId) }, s: { B: sortKey(joined(tenantId, key)) } };
}

export function readItem(name: RecordName, item: Item | undefined): Found {
  if (!item) return ABSENT;
  // DynamoDB returns the members of a map in any order.
  const stored = Object.keys(item.f?.M ?? {}).sort();
  return {
    ...checkFields(
      name,
      stored.map((field) => [field.slice(FIELD.length), item.f!.M![field]!.B!]),
    ),
    writes: writesOf(item),
    revision: Number(item.r!.N),
    expiresAt: item.x ? Number(item.x.N) : null,
    isDeleted: item.d !== undefined,
    requests: (item.q?.L ?? []).map(({ S }) => S!),
    leftAt: item.l ? Number(item.l.N) : null,
    parts: item.g ? { id: item.g.S!, count: Number(item.n!.N) } : null,
  };
}

/** Returns the state of a live record. */
export function liveState(found: Found, now: number): RecordState | undefined {
  const { fields, revision, expiresAt } = found;
  return isLive(found, now) ? { fields, revision, expiresAt } : undefined;
}

export function isLive({ isDeleted, expiresAt }: Pick<Found, 'isDeleted' | 'expiresAt'>, now: number): boolean {
  return !isDeleted && (expiresAt === null || expiresAt > now);
}

export function storedRecord({ fields, revision, expiresAt }: RecordState, now: number): StoredRecord {
  return { fields, revision, ttlMs: expiresAt === null ? null : Math.max(1, expiresAt - now) };
}

/** A record as a scan returns it. */
export type MarkedRecord = StoredRecord & Pick<ScannedRecord, 'damaged'>;

/** Returns a live record. A damaged one has no fields. */
export function markedRecord(found: Found, now: number): MarkedRecord | null {
  const live = liveState(found, now);
  if (!live) return null;
  return found.damaged ? { ...storedRecord(live, now), fields: new Map(), damaged: true } : storedRecord(live, now);
}

/**
 * Returns the revision of a write. It follows the clock, so that a record that is created again after its marker was
 * removed has a higher revision than the old record.
 */
export function revisionAfter(before: number): number {
  return Math.max(before + 1, nextRevision());
}

let lastRevision = 0;

/** Returns the time in microseconds, but always more than the values that this process got earlier. */
export function nextRevision(): number {
  lastRevision = Math.max(lastRevision + 1, Date.now() * 1_000);
  return lastRevision;
}

/** Returns when DynamoDB may remove an item, in seconds. */
export function removableAt(endsAt: number): { N: string } {
  return { N: String(Math.ceil((endsAt + REQUEST_KEPT_MS + MARGIN_MS) / 1_000)) };
}

interface Written {
  /** The state after the write; `null` for a deleted record. */
  state: RecordState | null;
  revision: number;
  writeId: Buffer;
  /** The ids of earlier writes, newest first. */
  writes: readonly Buffer[];
  requests: readonly string[];
  leftAt: number | null;
  now: number;
  parts: PartsOf | null;
}

/** Returns the complete item after a write. */
export function recordItem(name: RecordName, it: Written): Item {
  const item: Item = { ...recordKey(name), k: { S: name.key }, o: { S: name.tenantId } };
  item.r = { N: String(it.revision) };
  Object.assign(item, historyItem(it.writeId, it.writes));
  if (it.requests.length > 0) item.q = { L: it.requests.map((id) => ({ S: id })) };
  if (it.leftAt !== null) item.l = { N: String(it.leftAt) };
  if (!it.state) {
    item.d = { N: String(it.now) };
    item.e = removableAt(it.now);
    return item;
  }
  if (it.state.expiresAt !== null) {
    item.x = { N: String(it.state.expiresAt) };
    item.e = removableAt(it.state.expiresAt);
  }
  if (it.parts) Object.assign(item, { g: { S: it.parts.id }, n: { N: String(it.parts.count) } });
  else item.f = { M: fieldItems(name, it.state.fields) };
  return item;
}

/** Returns the name of a field within the map of fields. */
export function nameOfField(field: string): string {
  return FIELD + field;
}

function fieldItems(name: RecordName, fields: Fields): Item {
  const items: Item = {};
  const start = sumOfName(name);
  for (const [field, value] of fields) items[nameOfField(field)] = { B: summed(start, field, value) };
  return items;
}

/** Returns the approximate number of bytes that fields take within an item. */
export function fieldBytes(name: RecordName, fields: Fields): number {
  return itemBytes(fieldItems(name, fields)) + fields.size;
}

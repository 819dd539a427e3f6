/** Encodes conditional steps as script arguments, and decodes records from replies. */
import { isAscii } from 'node:buffer';
import {
  type Fields,
  jobTypeOf,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  type StoredRecord,
} from '@tidemark/core/engine';
import type { Argument } from './connection.ts';
import { expiryMember } from './layout.ts';
import { companionOf, damagedFields, fieldOfCompanion, recordStart, sumOfField } from './record-sums.ts';

/** The store's own field: `revision` or `revision:expiresAt`, then request ids, each after a NUL. */
export const META = '\0';

/** Their number is encoded as one character. */
const MOST_FIELDS = 9;
const SHORT = 1_024;

/** Returns the job type of a record, or `null` when it is not a job. */
export function jobTypeOfRecord({ space, key }: RecordWrite['name']): string | null {
  return space === 'kv' ? jobTypeOf(key) : null;
}

/**
 * Returns the arguments of a step, in the order `step.lua` reads them. With `sums`, each field is written with its
 * companion. Without, companions are removed: the store may have been upgraded since this process opened it.
 */
export function stepArguments(write: RecordWrite, brief: boolean, sums: boolean): Argument[] {
  const { name, mode, expect, stamps, ttlMs, requestId, requestIsNew } = write;
  const [expected, absent] = splitByValue(expect?.fields);
  const [values, dropped] = sums ? withCompanions(write) : withoutCompanions(write);
  const exists = expect?.exists === undefined ? '' : expect.exists ? '1' : '0';
  const ttl = ttlMs === undefined ? '' : ttlMs === null ? '-' : ttlMs;
  const counts = `${expected.length / 2},${absent.length},${values.length / 2},${dropped.length},${stamps?.size ?? 0}`;
  const flags = (brief ? 1 : 0) + (requestIsNew ? 2 : 0);
  const shape = `${mode},${ttl},${exists},${expect?.revision ?? ''},${flags},${counts}`;
  const args: Argument[] = [name.key, shape, requestId ?? '', jobTypeOfRecord(name) ?? ''];
  args.push(...expected, ...absent, ...values, ...dropped);
  for (const [field, offset] of stamps ?? []) args.push(field, String(offset));
  args.push(expiryMember(name));
  return args;
}

/**
 * Returns the fields with their values and companions, and everything to remove. The server writes stamps, so a stamped
 * field has no companion until a caller writes it.
 */
function withCompanions({ name, set, stamps }: RecordWrite): [Argument[], string[]] {
  const start = recordStart(name);
  const [values, without]: [Argument[], string[]] = [[], []];
  for (const [field, value] of set) {
    if (value === null) without.push(field, companionOf(field));
    else values.push(field, encodeValue(value), companionOf(field), sumOfField(start, field, value));
  }
  for (const field of stamps?.keys() ?? []) without.push(companionOf(field));
  return [values, without];
}

/** Returns the fields with their values, and everything to remove: an old companion would no longer match its field. */
function withoutCompanions({ set, stamps }: RecordWrite): [Argument[], string[]] {
  const [values, without] = splitByValue(set);
  without.push(...Array.from(set.keys(), companionOf), ...Array.from(stamps?.keys() ?? [], companionOf));
  return [values, without];
}

/** Whether a step only sets fields, on conditions that `set.lua` supports. */
export function onlySets(write: RecordWrite): boolean {
  if (write.mode !== 'merge' || write.ttlMs !== undefined || write.requestId !== undefined || write.stamps)
    return false;
  if (write.expect?.revision !== undefined || write.set.size === 0 || write.set.size > MOST_FIELDS) return false;
  if ((write.expect?.fields?.size ?? 0) > MOST_FIELDS) return false;
  for (const value of write.set.values()) if (value === null) return false;
  return jobTypeOfRecord(write.name) === null;
}

/**
 * Returns the arguments of such a step, in the order `set.lua` reads them. Each field is written with its companion.
 */
export function setArguments({ name, expect, set }: RecordWrite): Argument[] {
  const exists = expect?.exists === undefined ? ' ' : expect.exists ? '1' : '0';
  const [values, absent]: [Argument[], string[]] = [[], []];
  for (const [field, value] of expect?.fields ?? []) {
    if (value === null) absent.push(field);
    else values.push(field, encodeValue(value));
  }
  const args: Argument[] = [
    `${exists}${values.length / 2}${absent.length}${encodeCount(2 * set.size)}${name.key}`,
    ...values,
    ...absent,
  ];
  const start = recordStart(name);
  for (const [field, value] of set)
    args.push(field, encodeValue(value!), companionOf(field), sumOfField(start, field, value!));
  return args;
}

/** Encodes a count as one character: numbers above 9 continue in ASCII order. */
function encodeCount(count: number): string {
  return String.fromCharCode(48 + count);
}

/** Decodes the reply of `set.lua`. */
export function setOutcome(reply: number): { applied: boolean; existed: boolean; revision: number } {
  const flags = reply % 8;
  return { applied: flags >= 4, existed: flags % 4 >= 2, revision: (reply - flags) / 8 };
}

/** Splits fields into those with a value and those without. */
function splitByValue(fields: ReadonlyMap<string, Uint8Array | null> | undefined): [Argument[], string[]] {
  const [values, without]: [Argument[], string[]] = [[], []];
  for (const [field, value] of fields ?? []) {
    if (value === null) without.push(field);
    else values.push(field, encodeValue(value));
  }
  return [values, without];
}

/**
 * Converts short values to text: each byte buffer is written to the socket separately, which costs more than converting
 * it.
 */
function encodeValue(value: Uint8Array): Argument {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.length);
  return bytes.length <= SHORT && isAscii(bytes) ? bytes.toString('latin1') : bytes;
}

/** `[applied, existed, revision of the change or 0, revision or 0, ttl or -1, fields]`. */
export type StepReply = [number, number, number, number, number, Buffer[]?];

export const NO_FIELDS: Fields = new Map();

/**
 * Decodes the outcome of a step. If the record is damaged outside the written fields, only intact fields are returned.
 */
export function outcomeOf(name: RecordName, [applied, existed, , revision, ttl, fields]: StepReply): RecordOutcome {
  const record =
    revision === 0
      ? null
      : {
          fields: fields ? (parseRecord(name, fields)?.fields ?? NO_FIELDS) : NO_FIELDS,
          revision,
          ttlMs: ttl === -1 ? null : ttl,
        };
  return { applied: applied === 1, record, existed: existed === 1 };
}

/** A record as it is stored. */
export interface ParsedRecord {
  fields: Map<string, Uint8Array>;
  revision: number;
  expiresAt: number | null;
  /** It does not match its checksums. Damaged fields are omitted. */
  damaged?: true;
  /** No field of it has a checksum. */
  unsummed?: true;
}

/** Parses a reply of HGETALL; `null` when there is no record. */
export function parseRecord(name: RecordName, flat: readonly Buffer[]): ParsedRecord | null {
  if (flat.length === 0) return null;
  const record: ParsedRecord = { fields: new Map(), revision: 0, expiresAt: null };
  const sums = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) {
    const field = flat[at]!.toString();
    if (field === META) Object.assign(record, parseMeta(flat[at + 1]!));
    else if (field.startsWith(META)) sums.set(fieldOfCompanion(field)!, flat[at + 1]!.toString('latin1'));
    else record.fields.set(field, flat[at + 1]!);
  }
  const damaged = damagedFields(name, record.fields, sums);
  for (const field of damaged) record.fields.delete(field);
  if (damaged.length > 0 || !(record.revision > 0)) return { ...record, damaged: true };
  return sums.size === 0 ? { ...record, unsummed: true } : record;
}

export function parseMeta(bytes: Buffer): { revision: number; expiresAt: number | null } {
  const cut = bytes.indexOf(0);
  const [revision, expiresAt] = bytes.toString('latin1', 0, cut === -1 ? undefined : cut).split(':');
  return { revision: Number(revision), expiresAt: expiresAt === undefined ? null : Number(expiresAt) };
}

/**
 * Returns the record as of a time of the server's clock. It was alive when it was read, so its remaining time is
 * positive.
 */
export function storedRecord({ fields, revision, expiresAt }: ParsedRecord, now: number): StoredRecord {
  return { fields, revision, ttlMs: expiresAt === null ? null : Math.max(1, expiresAt - now) };
}

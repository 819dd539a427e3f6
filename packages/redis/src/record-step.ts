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
import { companionOf, matchesSum, recordStart, strayCompanions, sumOfField } from './record-sums.ts';

/** The store's own field: `revision` or `revision:expiresAt`, then request ids, each after a NUL. */
export const META = '\0';

/** A limit, because the number of fields is encoded as one character. */
const MOST_FIELDS = 9;
const SHORT = 1_024;

/** Returns the job type of a record, or `null` when the record is not a job. */
export function jobTypeOfRecord({ space, key }: RecordWrite['name']): string | null {
  return space === 'kv' ? jobTypeOf(key) : null;
}

/**
 * Returns the arguments of a step, in the order `step.lua` reads them. With `sums`, each field is written with its
 * checksum. Without it, checksums are removed, because the store may have been upgraded since this process opened it.
 */
export function stepArguments(write: RecordWrite, brief: boolean, sums: boolean): Argument[] {
  const { name, mode, expect, stamps, ttlMs, requestId, requestIsNew, answersBatch } = write;
  const [expected, absent] = splitByValue(expect?.fields);
  const [values, dropped] = sums ? withCompanions(write) : withoutCompanions(write);
  const exists = expect?.exists === undefined ? '' : expect.exists ? '1' : '0';
  const ttl = ttlMs === undefined ? '' : ttlMs === null ? '-' : ttlMs;
  const counts = `${expected.length / 2},${absent.length},${values.length / 2},${dropped.length},${stamps?.size ?? 0}`;
  const flags = (brief ? 1 : 0) + (requestIsNew ? 2 : 0) + (answersBatch ? 4 : 0);
  const shape = `${mode},${ttl},${exists},${expect?.revision ?? ''},${flags},${counts}`;
  const args: Argument[] = [name.key, shape, requestId ?? '', jobTypeOfRecord(name) ?? ''];
  args.push(...expected, ...absent, ...values, ...dropped);
  for (const [field, offset] of stamps ?? []) args.push(field, String(offset));
  args.push(expiryMember(name));
  return args;
}

/**
 * Returns the fields with their values and checksums, and everything to remove. The server computes stamps, so a
 * stamped field has no checksum until a caller sets the field.
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

/**
 * Returns the fields with their values, and the fields to remove. Old checksums are removed, because they would no
 * longer match.
 */
function withoutCompanions({ set, stamps }: RecordWrite): [Argument[], string[]] {
  const [values, without] = splitByValue(set);
  without.push(...Array.from(set.keys(), companionOf), ...Array.from(stamps?.keys() ?? [], companionOf));
  return [values, without];
}

/** Whether a step only sets fields, under conditions that `set.lua` supports. */
export function onlySets(write: RecordWrite): boolean {
  if (write.mode !== 'merge' || write.ttlMs !== undefined || write.requestId !== undefined || write.stamps)
    return false;
  if (write.expect?.revision !== undefined || write.set.size === 0 || write.set.size > MOST_FIELDS) return false;
  if ((write.expect?.fields?.size ?? 0) > MOST_FIELDS) return false;
  for (const value of write.set.values()) if (value === null) return false;
  return jobTypeOfRecord(write.name) === null;
}

/**
 * Returns the arguments of a step that only sets fields, in the order `set.lua` reads them. The checksum precedes each
 * field's name, from which the script derives the name of the checksum field. A further argument would cost the client
 * as much as computing the checksum. With `namesKeys`, the index of names and the counter of revisions are sent as
 * keys.
 */
export function setArguments({ name, expect, set }: RecordWrite, namesKeys: boolean): Argument[] {
  const exists = expect?.exists === undefined ? ' ' : expect.exists ? '1' : '0';
  const args: Argument[] = [''];
  const absent: string[] = [];
  for (const [field, value] of expect?.fields ?? NO_FIELDS) {
    if (value === null) absent.push(field);
    else args.push(field, encodeValue(value));
  }
  args[0] = `${exists}${(args.length - 1) / 2}${absent.length}${set.size}${namesKeys ? ' ' : '*'}${name.key}`;
  for (const field of absent) args.push(field);
  const start = recordStart(name);
  for (const [field, value] of set)
    args.push(`${sumOfField(start, field, value!)}${companionOf(field)}`, encodeValue(value!));
  return args;
}

/** Decodes the reply of `set.lua`. */
export function setOutcome(reply: number): { applied: boolean; existed: boolean; revision: number } {
  const flags = reply % 8;
  return { applied: flags >= 4, existed: flags % 4 >= 2, revision: (reply - flags) / 8 };
}

/** Splits fields into fields with a value and fields without one (`null`). */
function splitByValue(fields: ReadonlyMap<string, Uint8Array | null> | undefined): [Argument[], string[]] {
  const [values, without]: [Argument[], string[]] = [[], []];
  for (const [field, value] of fields ?? []) {
    if (value === null) without.push(field);
    else values.push(field, encodeValue(value));
  }
  return [values, without];
}

/**
 * Converts short values to text, because writing each byte buffer to the socket separately costs more than the
 * conversion.
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

/** A record in its stored form. */
export interface ParsedRecord {
  fields: Map<string, Uint8Array>;
  revision: number;
  expiresAt: number | null;
  /** Set when the record does not match its checksums. `fields` omits the damaged fields. */
  damaged?: true;
  /** Set when no field of the record has a checksum. */
  unsummed?: true;
}

/** Parses a reply of HGETALL; `null` when there is no record. */
export function parseRecord(name: RecordName, flat: readonly Buffer[]): ParsedRecord | null {
  if (flat.length === 0) return null;
  const fields = new Map<string, Uint8Array>();
  const start = recordStart(name);
  let [meta, damaged, sums]: [Meta | null, string[] | null, number] = [null, null, 0];
  let [before, held, field]: [Buffer | null, Buffer | null, string] = [null, null, ''];
  let later: number[] | null = null;
  for (let at = 0; at < flat.length; at += 2) {
    const bytes = flat[at]!;
    const value = flat[at + 1]!;
    if (bytes[0] !== 0) {
      field = bytes.toString();
      fields.set(field, value);
      [before, held] = [bytes, value];
    } else if (bytes.length === 1) meta = parseMeta(value);
    else {
      sums++;
      // In small hashes a checksum follows its field.
      if (!before || !held || !isCompanion(bytes, before)) later = [...(later ?? []), at];
      else if (!matchesSum(start, field, held, value)) damaged = [...(damaged ?? []), field];
    }
  }
  for (const at of later ?? []) {
    const of = flat[at]!.toString('utf8', 1);
    const value = fields.get(of);
    if (value === undefined || !matchesSum(start, of, value, flat[at + 1]!)) damaged = [...(damaged ?? []), of];
  }
  if (sums < fields.size) damaged = [...(damaged ?? []), ...strayCompanions(start, withoutSums(flat))];
  for (const of of damaged ?? []) fields.delete(of);
  const { revision, expiresAt } = meta ?? NO_META;
  if ((damaged && damaged.length > 0) || !(revision > 0)) return { fields, revision, expiresAt, damaged: true };
  return sums === 0 ? { fields, revision, expiresAt, unsummed: true } : { fields, revision, expiresAt };
}

function isCompanion(companion: Buffer, field: Buffer): boolean {
  if (companion.length !== field.length + 1) return false;
  for (let at = 0; at < field.length; at++) if (companion[at + 1] !== field[at]) return false;
  return true;
}

/** Returns the fields of a reply of HGETALL that have no checksum. */
function withoutSums(flat: readonly Buffer[]): Map<string, Uint8Array> {
  const fields = new Map<string, Uint8Array>();
  for (let at = 0; at < flat.length; at += 2) fields.set(flat[at]!.toString(), flat[at + 1]!);
  for (const field of [...fields.keys()]) if (field.startsWith(META)) fields.delete(field.slice(META.length));
  for (const field of [...fields.keys()]) if (field.startsWith(META)) fields.delete(field);
  return fields;
}

interface Meta {
  revision: number;
  expiresAt: number | null;
}

const NO_META: Meta = { revision: 0, expiresAt: null };

/** Parses the store's own field up to the first NUL. Anything but digits makes a number `NaN`. */
export function parseMeta(bytes: Buffer): Meta {
  let [revision, expiresAt]: [number, number | null] = [0, null];
  for (let at = 0; at < bytes.length && bytes[at] !== 0; at++) {
    const digit = bytes[at]! - 48;
    if (digit === 10 && expiresAt === null) expiresAt = 0;
    else if (digit < 0 || digit > 9) return { revision: Number.NaN, expiresAt: null };
    else if (expiresAt === null) revision = revision * 10 + digit;
    else expiresAt = expiresAt * 10 + digit;
  }
  return { revision, expiresAt };
}

/**
 * Returns the record with its remaining time at a time of the server's clock. The remaining time is positive, because
 * the server returns only records that have not expired.
 */
export function storedRecord({ fields, revision, expiresAt }: ParsedRecord, now: number): StoredRecord {
  return { fields, revision, ttlMs: expiresAt === null ? null : Math.max(1, expiresAt - now) };
}

/** Bytes of records in JSON (KV-1): `{ "text": … }` if they are valid UTF-8, otherwise `{ "base64": … }`. */
import {
  checkObject,
  invalidArgument,
  type KvChange,
  type KvEntry,
  type KvKey,
  type KvRecord,
  TidemarkError,
} from '@tidemark/core/portable';

export type WireBytes = { text: string } | { base64: string };

/** A value in a request. Plain strings, numbers and booleans are stored as text. */
export type WireValue = string | number | boolean | WireBytes;

export interface WireRecord {
  fields: Record<string, WireBytes>;
  /** The remaining time to live in milliseconds when the record was read. */
  ttl?: number;
  revision: number;
  /** Names of the sealed fields. */
  sealed?: string[];
}

/** An item of a scan. Items of a scan with `keysOnly` have no record. */
export interface WireEntry {
  key: string;
  record?: WireRecord;
}

export interface WireChange extends Omit<KvChange, 'record'> {
  record: WireRecord | null;
}

const VALUE_RULE = 'a well-formed string, a finite number, a bigint, a boolean or bytes';
const encoder = new TextEncoder();
/** A larger chunk would exceed the maximum number of arguments of a function call. */
const CHUNK = 8_192;

export function bytesOfWire(wire: WireBytes): Uint8Array {
  if ('text' in wire) return encoder.encode(wire.text);
  return Uint8Array.from(atob(wire.base64), (char) => char.charCodeAt(0));
}

/** Encodes a value, with the same checks as every store. */
export function valueToWire(value: unknown, field: string, maxBytes: number): WireBytes {
  const wire = toWire(value);
  if (wire === null) throw invalidArgument(field, VALUE_RULE, value);
  const size = 'text' in wire ? encoder.encode(wire.text).length : (value as Uint8Array).length;
  if (size <= maxBytes) return wire;
  throw new TidemarkError(
    'PAYLOAD_TOO_LARGE',
    `${field} is larger than ${maxBytes} bytes; store it as an artifact and keep the reference`,
    { field, rule: `at most ${maxBytes} bytes` },
  );
}

function toWire(value: unknown): WireBytes | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? { text: value } : null;
    case 'number':
      return Number.isFinite(value) ? { text: String(value) } : null;
    case 'bigint':
    case 'boolean':
      return { text: String(value) };
    default:
      return value instanceof Uint8Array ? { base64: base64Of(value) } : null;
  }
}

export function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let start = 0; start < bytes.length; start += CHUNK)
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  return btoa(binary);
}

/** Encodes fields. `null` means that the field is removed, or that it must be absent. */
export function fieldsToWire(fields: unknown, name: string, maxBytes: number): Record<string, WireBytes | null> {
  const wire = Object.create(null) as Record<string, WireBytes | null>;
  for (const [field, value] of Object.entries(checkObject(fields, name)))
    wire[field] = value === null ? null : valueToWire(value, `${name}.${field}`, maxBytes);
  return wire;
}

/** Encodes the operations of a batch. */
export function operationsToWire(operations: unknown, name: string, maxBytes: number): unknown {
  if (!Array.isArray(operations)) return operations;
  return operations.map((operation, at) => {
    const path = `${name}[${at}]`;
    const { fields, expected, ...rest } = checkObject(operation, path);
    const toWire = (given: unknown, member: string) =>
      given === undefined ? undefined : fieldsToWire(given, `${path}.${member}`, maxBytes);
    return { ...rest, fields: toWire(fields, 'fields'), expected: toWire(expected, 'expected') };
  });
}

export function recordOfWire({ fields, ...record }: WireRecord): KvRecord {
  const decoded = Object.create(null) as Record<string, Uint8Array>;
  for (const name of Object.keys(fields)) decoded[name] = bytesOfWire(fields[name]!);
  return { fields: decoded, ...record };
}

export function entryOfWire({ key, record }: WireEntry): KvKey | KvEntry {
  return record ? { key, record: recordOfWire(record) } : { key };
}

export function changeOfWire(change: WireChange): KvChange {
  return { ...change, record: change.record && recordOfWire(change.record) };
}

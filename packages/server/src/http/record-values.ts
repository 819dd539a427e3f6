/**
 * Converts record values to and from their JSON form (KV-1). Uses buffers, which are faster than the code in
 * `@tidemark/wire`.
 */
import { isUtf8 } from 'node:buffer';
import {
  invalidArgument,
  type KvChange,
  type KvPredicate,
  type KvRecord,
  type KvValue,
  type ScanFilter,
} from '@tidemark/core';
import type { WireBytes, WireChange, WireFilter, WireRecord, WireValue } from '@tidemark/wire';

export function bytesToWire(bytes: Uint8Array): WireBytes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? { text: buffer.toString() } : { base64: buffer.toString('base64') };
}

export function recordToWire({ fields, ...record }: KvRecord): WireRecord {
  const wire = Object.create(null) as Record<string, WireBytes>;
  for (const name in fields) wire[name] = bytesToWire(fields[name]!);
  return { fields: wire, ...record };
}

export function changeToWire({ key, type, record }: KvChange): WireChange {
  return { key, type, record: record && recordToWire(record) };
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export function valueOfWire(value: WireValue, field: string): KvValue {
  if (typeof value !== 'object') return value;
  if ('text' in value) return value.text;
  if (!BASE64.test(value.base64)) throw invalidArgument(field, 'base64', value.base64);
  return Buffer.from(value.base64, 'base64');
}

/** Decodes fields. `null` means that the field is removed, or that it must be absent. */
export function fieldsOfWire<T extends WireValue | null>(
  fields: Record<string, T>,
  name: string,
): Record<string, T extends null ? KvValue | null : KvValue> {
  const decoded = Object.create(null);
  for (const field of Object.keys(fields)) {
    const value = fields[field] as WireValue | null;
    decoded[field] = value === null ? null : valueOfWire(value, `${name}.${field}`);
  }
  return decoded;
}

export function filterOfWire({ where, maxResults }: WireFilter): ScanFilter {
  const predicates = where.map(({ field, op, value }) => ({
    field,
    op,
    value: Array.isArray(value)
      ? value.map((it) => valueOfWire(it, 'filter.value'))
      : valueOfWire(value, 'filter.value'),
  }));
  return { where: predicates as KvPredicate[], ...(maxResults === undefined ? {} : { maxResults }) };
}

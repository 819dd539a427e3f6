/** Field values: encodes values as bytes, and helps readers to decode them (KV-1). */
import { checkId, checkObject } from '../checks/text.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { KvRecord, KvValue } from '../contracts/kv.ts';
import type { Fields, StoredRecord } from '../engine/records.ts';

const VALUE_RULE = 'a well-formed string, a finite number, a bigint, a boolean or bytes';

/** Encodes a value. Bytes are copied, so that later changes to the caller's array do not change stored data. */
export function encodeValue(value: unknown, field: string, maxBytes: number): Uint8Array {
  const bytes = bytesOf(value);
  if (bytes === null) throw invalidArgument(field, VALUE_RULE, value);
  if (bytes.length > maxBytes) {
    throw new TidemarkError(
      'PAYLOAD_TOO_LARGE',
      `${field} is larger than ${maxBytes} bytes; store it as an artifact and keep the reference`,
      {
        field,
        rule: `at most ${maxBytes} bytes`,
      },
    );
  }
  return bytes;
}

function bytesOf(value: unknown): Uint8Array | null {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? Buffer.from(value) : null;
    case 'number':
      return Number.isFinite(value) ? Buffer.from(String(value)) : null;
    case 'bigint':
    case 'boolean':
      return Buffer.from(String(value));
    default:
      return value instanceof Uint8Array ? new Uint8Array(value) : null;
  }
}

/** Encodes the fields of a write. With `nulls`, `null` marks a field to remove. */
export function encodeFields(
  fields: unknown,
  name: string,
  maxBytes: number,
  options: { nulls: boolean },
): Map<string, Uint8Array | null> {
  const encoded = new Map<string, Uint8Array | null>();
  for (const [field, value] of Object.entries(checkObject(fields, name))) {
    checkId(field, `${name} (field name)`);
    const removes = value === null && options.nulls;
    encoded.set(field, removes ? null : encodeValue(value, `${name}.${field}`, maxBytes));
  }
  return encoded;
}

/** Converts a stored record for readers: copied bytes, in an object without a prototype. */
export function recordOf(stored: StoredRecord): KvRecord {
  const record: KvRecord = { fields: fieldsOf(stored.fields), revision: stored.revision };
  if (stored.ttlMs !== null) record.ttl = stored.ttlMs;
  return record;
}

function fieldsOf(fields: Fields): Record<string, Uint8Array> {
  const object = Object.create(null) as Record<string, Uint8Array>;
  for (const [name, bytes] of fields) object[name] = new Uint8Array(bytes);
  return object;
}

/** Returns the text of a field value, `null` when it is absent. */
export function textOf(value: KvValue | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}

/** Returns the number of a field value, `null` when it is absent or not written as a number. */
export function numberOf(value: KvValue | null | undefined): number | null {
  const text = textOf(value);
  if (text === null || text.trim() === '') return null;
  const number = Number(text);
  return Number.isNaN(number) ? null : number;
}

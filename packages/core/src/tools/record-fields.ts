/** Reads and writes record fields as text and numbers, for keyed engines. */
import type { StoredRecord } from '../engine/records.ts';

/** Encodes values as record fields; `null` removes a field. */
export function fieldsOf(values: Record<string, string | number | null>): Map<string, Uint8Array | null> {
  const fields = new Map<string, Uint8Array | null>();
  for (const name in values) {
    const value = values[name];
    fields.set(name, value === null ? null : Buffer.from(String(value)));
  }
  return fields;
}

/** Returns a field as text; `null` when it is absent. */
export function textField(record: Pick<StoredRecord, 'fields'>, name: string): string | null {
  const bytes = record.fields.get(name);
  return bytes === undefined ? null : textOfBytes(bytes);
}

/** Decodes UTF-8 without copying the bytes. */
export function textOfBytes(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString();
}

/** Returns a required numeric field. */
export function numberField(record: Pick<StoredRecord, 'fields'>, name: string): number {
  const value = Number(textField(record, name) ?? Number.NaN);
  if (!Number.isFinite(value)) throw new Error(`A record lacks the number ${name}`);
  return value;
}

/**
 * Checksums of fields (KV-12). The stored value of a field begins with four bytes: the checksum of the record's space,
 * tenant and key, of the field's name and of its value. The same value always has the same stored form, so conditions
 * can compare stored forms.
 */
import { type RecordName, sumBytes, sumName, sumNames } from '@tidemark/core/engine';

const SUM_BYTES = 4;

/** The fields of a record that match their checksums. */
export interface CheckedFields {
  fields: Map<string, Uint8Array>;
  /** Set when other fields do not match. */
  damaged?: true;
}

/** Returns the checksum of a record's name, with which the checksums of its fields begin. */
export function sumOfName({ space, tenantId, key }: RecordName): number {
  return sumNames([space, tenantId, key]);
}

/** Returns the stored form of a field. */
export function summed(start: number, field: string, value: Uint8Array): Buffer {
  const stored = Buffer.allocUnsafe(SUM_BYTES + value.length);
  stored.writeInt32BE(sumBytes(value, sumName(field, start)));
  stored.set(value, SUM_BYTES);
  return stored;
}

/** Separates stored fields into values and damage. */
export function checkFields(name: RecordName, stored: Iterable<readonly [string, Uint8Array]>): CheckedFields {
  const start = sumOfName(name);
  const found: CheckedFields = { fields: new Map() };
  for (const [field, bytes] of stored) {
    const value = bytes.subarray(SUM_BYTES);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes.length >= SUM_BYTES && view.getInt32(0) === sumBytes(value, sumName(field, start)))
      found.fields.set(field, value);
    else found.damaged = true;
  }
  return found;
}

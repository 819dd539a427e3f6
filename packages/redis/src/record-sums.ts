/**
 * Checksums of records on Redis. Each field has a companion in the same hash, named by a NUL and the field, which holds
 * the checksum of its value. No caller's field begins with a NUL. A companion without its field means that the field
 * was lost.
 */
import { type Fields, type RecordName, sumBytes, sumName, sumNames } from '@tidemark/core/engine';

const COMPANION = '\0';

/** Returns the name of a field's companion. */
export function companionOf(field: string): string {
  return COMPANION + field;
}

/** Returns the field that a companion belongs to, or `null` for a field. */
export function fieldOfCompanion(name: string): string | null {
  return name.startsWith(COMPANION) ? name.slice(COMPANION.length) : null;
}

export function recordStart({ space, tenantId, key }: RecordName): number {
  return sumNames([space, tenantId, key]);
}

/** Returns the value of a companion. */
export function sumOfField(start: number, field: string, value: Uint8Array): string {
  return (sumBytes(value, sumName(field, start)) >>> 0).toString(36);
}

/** Returns the fields that do not match their companion, including lost ones. */
export function damagedFields(name: RecordName, fields: Fields, sums: ReadonlyMap<string, string>): string[] {
  if (sums.size === 0) return [];
  const start = recordStart(name);
  const damaged: string[] = [];
  for (const [field, sum] of sums) {
    const value = fields.get(field);
    if (value === undefined || sumOfField(start, field, value) !== sum) damaged.push(field);
  }
  return damaged;
}

/**
 * Checksums of records on Redis: each field has a companion in the same hash, named by a NUL and the field, which holds the sum of
 * its value. No field of a caller begins with a NUL. A companion without its field tells of a field that was lost.
 */
import { type Fields, type RecordName, sumBytes, sumName, sumNames } from '@tidemark/core/engine';

const COMPANION = '\0';

/** The companion of a field. */
export function companionOf(field: string): string {
  return COMPANION + field;
}

/** The field that a companion belongs to; `null` for a field. */
export function fieldOfCompanion(name: string): string | null {
  return name.startsWith(COMPANION) ? name.slice(COMPANION.length) : null;
}

export function recordStart({ space, tenantId, key }: RecordName): number {
  return sumNames([space, tenantId, key]);
}

/** What a companion holds. */
export function sumOfField(start: number, field: string, value: Uint8Array): string {
  return (sumBytes(value, sumName(field, start)) >>> 0).toString(36);
}

/** Fields whose companion does not match them, among them those that were lost. */
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

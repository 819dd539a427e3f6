/** Decodes stored records, and verifies their checksums. */
import type { Fields, RecordName, StoredRecord } from '@tidemark/core/engine';
import { matchesSum, recordStart, strayCompanions } from './record-sums.ts';

/** The store's own field: `revision` or `revision:expiresAt`, then request ids, each after a NUL. */
export const META = '\0';

export const NO_FIELDS: Fields = new Map();

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
  /** Checksums that do not follow their fields, and fields that no checksum follows. */
  let [later, bare]: [number[] | null, string[] | null] = [null, null];
  for (let at = 0; at < flat.length; at += 2) {
    const bytes = flat[at]!;
    const value = flat[at + 1]!;
    if (bytes[0] !== 0) {
      if (before) bare = added(bare, field);
      field = bytes.toString();
      fields.set(field, value);
      [before, held] = [bytes, value];
    } else if (bytes.length === 1) meta = parseMeta(value);
    else {
      sums++;
      // In small hashes a checksum follows its field.
      if (!before || !held || !isCompanion(bytes, before)) later = added(later, at);
      else {
        if (!matchesSum(start, field, held, value)) damaged = added(damaged, field);
        before = null;
      }
    }
  }
  if (before) bare = added(bare, field);
  for (const at of later ?? []) {
    const of = flat[at]!.toString('utf8', 1);
    const value = fields.get(of);
    if (value === undefined || !matchesSum(start, of, value, flat[at + 1]!)) damaged = added(damaged, of);
    else if (bare) bare = bare.filter((it) => it !== of);
  }
  if (bare) damaged = [...(damaged ?? []), ...strayCompanions(start, fields, bare)];
  for (const of of damaged ?? []) fields.delete(of);
  const { revision, expiresAt } = meta ?? NO_META;
  if ((damaged && damaged.length > 0) || !(revision > 0)) return { fields, revision, expiresAt, damaged: true };
  return sums === 0 ? { fields, revision, expiresAt, unsummed: true } : { fields, revision, expiresAt };
}

function added<T>(list: T[] | null, item: T): T[] {
  if (!list) return [item];
  list.push(item);
  return list;
}

function isCompanion(companion: Buffer, field: Buffer): boolean {
  if (companion.length !== field.length + 1) return false;
  for (let at = 0; at < field.length; at++) if (companion[at + 1] !== field[at]) return false;
  return true;
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

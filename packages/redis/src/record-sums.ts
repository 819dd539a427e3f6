/**
 * Checksums of records on Redis. Each field has a checksum field in the same hash, which holds the checksum of the
 * value in base 36. Its name is a NUL and the name of the field. Names that callers choose never begin with a NUL. If a
 * checksum field has no field, the field was lost.
 */
import { type Fields, type RecordName, sumBytes, sumName } from '@tidemark/core/engine';

const COMPANION = '\0';

/** Pairs of digits in base 36, with and without a leading zero. Calling `toString(36)` takes five times as long. */
const PAIRS = Array.from({ length: 36 * 36 }, (_, value) => value.toString(36).padStart(2, '0'));
const SHORT = Array.from({ length: 36 * 36 }, (_, value) => value.toString(36));

/** The value of each byte as a digit in base 36, or -1. */
const DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 36; value++) DIGITS[value.toString(36).charCodeAt(0)] = value;
const ZERO = 48;
/** The digits of the largest checksum. */
const MAX_DIGITS = 7;

/** Returns the name of a field's checksum field. */
export function companionOf(field: string): string {
  return COMPANION + field;
}

/** The checksum of the last space and tenant, cached because most calls of a process use the same space and tenant. */
let last = { space: '', tenantId: '', sum: 0 };

export function recordStart({ space, tenantId, key }: RecordName): number {
  return sumName(key, sumBeforeKey(space, tenantId));
}

function sumBeforeKey(space: string, tenantId: string): number {
  if (space !== last.space || tenantId !== last.tenantId)
    last = { space, tenantId, sum: sumName(tenantId, sumName(space, 0)) };
  return last.sum;
}

/** Returns the checksum of a field. */
function sumOf(start: number, field: string, value: Uint8Array): number {
  return sumBytes(value, sumName(field, start)) >>> 0;
}

/** Returns the value of a field's checksum field. */
export function sumOfField(start: number, field: string, value: Uint8Array): string {
  const sum = sumOf(start, field, value);
  const rest = Math.floor(sum / 1_296);
  const first = Math.floor(rest / 1_296);
  const last = PAIRS[sum - rest * 1_296]!;
  if (first === 0) return rest === 0 ? SHORT[sum]! : SHORT[rest]! + last;
  const middle = PAIRS[rest - first * 1_296]! + last;
  return first < 1_296 ? SHORT[first]! + middle : `1${PAIRS[first - 1_296]!}${middle}`;
}

/**
 * Whether a checksum field holds the checksum of a field. Any other spelling of the same number also counts as damage.
 */
export function matchesSum(start: number, field: string, value: Uint8Array, companion: Uint8Array): boolean {
  const { length } = companion;
  let sum = 0;
  for (let at = 0; at < length; at++) {
    const digit = DIGITS[companion[at]!]!;
    if (digit === -1) return false;
    sum = sum * 36 + digit;
  }
  if (length === 0 || length > MAX_DIGITS || (length > 1 && companion[0] === ZERO)) return false;
  return sum === sumOf(start, field, value);
}

/**
 * Returns checksum fields whose own names are damaged, that is, fields that hold the checksum of another field. `bare`
 * are the fields without a checksum, so intact records cost nothing. Times, which the server writes without checksums,
 * are longer than checksums.
 */
export function strayCompanions(start: number, fields: Fields, bare: readonly string[]): string[] {
  if (bare.length < 2 || !bare.some((field) => fields.get(field)!.length <= MAX_DIGITS)) return [];
  const sums = new Map(bare.map((field) => [sumOfField(start, field, fields.get(field)!), field]));
  return bare.filter((field) => {
    const value = fields.get(field)!;
    const of = value.length <= MAX_DIGITS ? sums.get(Buffer.from(value).toString('latin1')) : undefined;
    return of !== undefined && of !== field;
  });
}

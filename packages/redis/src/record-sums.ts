/**
 * Checksums of records on Redis. Each field has a companion in the same hash, named by a NUL and the field, which holds
 * the checksum of its value in base 36. No caller's field begins with a NUL. A companion without its field means that
 * the field was lost.
 */
import { type Fields, type RecordName, sumBytes, sumName } from '@tidemark/core/engine';

const COMPANION = '\0';

/** Pairs of digits in base 36, and the same without a leading zero: `toString(36)` takes five times as long. */
const PAIRS = Array.from({ length: 36 * 36 }, (_, value) => value.toString(36).padStart(2, '0'));
const SHORT = Array.from({ length: 36 * 36 }, (_, value) => value.toString(36));

/** The value of each byte as a digit in base 36, or -1. */
const DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 36; value++) DIGITS[value.toString(36).charCodeAt(0)] = value;
const ZERO = 48;

/** Returns the name of a field's companion. */
export function companionOf(field: string): string {
  return COMPANION + field;
}

export function recordStart({ space, tenantId, key }: RecordName): number {
  return sumName(key, sumName(tenantId, sumName(space, 0)));
}

/** Returns the checksum of a field. */
function sumOf(start: number, field: string, value: Uint8Array): number {
  return sumBytes(value, sumName(field, start)) >>> 0;
}

/** Returns the value of a field's companion. */
export function sumOfField(start: number, field: string, value: Uint8Array): string {
  const sum = sumOf(start, field, value);
  const rest = Math.floor(sum / 1_296);
  const first = Math.floor(rest / 1_296);
  const last = PAIRS[sum - rest * 1_296]!;
  if (first === 0) return rest === 0 ? SHORT[sum]! : SHORT[rest]! + last;
  const middle = PAIRS[rest - first * 1_296]! + last;
  return first < 1_296 ? SHORT[first]! + middle : `1${PAIRS[first - 1_296]!}${middle}`;
}

/** Whether a companion holds the checksum of a field. Any other spelling of the same number is damage too. */
export function matchesSum(start: number, field: string, value: Uint8Array, companion: Uint8Array): boolean {
  const { length } = companion;
  let sum = 0;
  for (let at = 0; at < length; at++) {
    const digit = DIGITS[companion[at]!]!;
    if (digit === -1) return false;
    sum = sum * 36 + digit;
  }
  if (length === 0 || length > 7 || (length > 1 && companion[0] === ZERO)) return false;
  return sum === sumOf(start, field, value);
}

/**
 * Returns the companions whose own names are damaged: fields that hold the checksum of another field. Only fields
 * without a companion are passed, so that intact records cost nothing.
 */
export function strayCompanions(start: number, fields: Fields): string[] {
  const strays: string[] = [];
  if (fields.size < 2) return strays;
  const sums = new Map(Array.from(fields, ([field, value]) => [sumOfField(start, field, value), field]));
  for (const [field, value] of fields) {
    const of = value.length <= 7 ? sums.get(Buffer.from(value).toString('latin1')) : undefined;
    if (of !== undefined && of !== field) strays.push(field);
  }
  return strays;
}

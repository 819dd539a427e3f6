/**
 * Lets the server compute the checksums of records that it selects, with revisions and times that it assigns. CRC-32 is
 * linear: a sum over a value is the sum over zeros, XORed with one term per digit of the value, and two sums that start
 * with the same unknown key differ by XORs alone. Every term is derived from the sums of core.
 */
import { LruMap, sumBytes, sumInteger, sumName } from '@tidemark/core/engine';

/** The digits of a time between 2001 and 2286. The server uses no other times for these sums. */
const TIME_DIGITS = 13;
const ZERO_TIME = '0'.repeat(TIME_DIGITS);
/** The digits of the largest safe integer, in base 64. */
const INTEGER_DIGITS = 9;

/** Returns SQL for whether `timeSum` applies to a time. */
export const isSummedTime = (time: string): string => `${time} BETWEEN 1000000000000 AND 9000000000000`;
/** The longest time that is added to the clock. */
export const MAX_SHIFT = 900_000_000_000;

/** Returns the checksum of a field that contains a time whose digits are all zero. */
export function zeroTimeSum(start: number, field: string): number {
  return sumBytes(zeroTime.value, sumName(field, start));
}

/** Returns SQL for the term that turns the sum over a zero time into the sum over a time. */
export function timeSum(time: string): string {
  const zero = sumBytes(zeroTime.value, 0);
  return termsSql(Math.ceil(TIME_DIGITS / 2), 100, (at) => {
    const end = TIME_DIGITS - at * 2;
    const start = Math.max(0, end - 2);
    const digits = (it: number) =>
      String(it)
        .padStart(2, '0')
        .slice(start - end);
    const text = (it: number) => `${ZERO_TIME.slice(0, start)}${digits(it)}${ZERO_TIME.slice(end)}`;
    return {
      digit: `(${time}) / ${100 ** at} % 100`,
      term: (it) => sumBytes(Buffer.from(text(it)), 0) ^ zero,
    };
  });
}

/** The parts of a record that its checksum covers before the fields: the revision, then the time at which it expires. */
type Covered = 'revision' | 'revision before expiry' | 'expiry';

/** Returns SQL for the term that turns the sum over the integer 0 into the sum over an integer. */
export function integerSum(integer: string, which: Covered): string {
  const sum = (it: number) => {
    if (which === 'expiry') return sumInteger(it, 0);
    return sumInteger(which === 'revision' ? null : 0, sumInteger(it, 0));
  };
  return termsSql(INTEGER_DIGITS, 64, (at) => ({
    digit: `(${integer}) >> ${6 * at} & 63`,
    term: (it) => sum(it * 64 ** at) ^ sum(0),
  }));
}

interface Digit {
  /** SQL for the digit at this position. */
  digit: string;
  term(digit: number): number;
}

function termsSql(digits: number, base: number, digitAt: (at: number) => Digit): string {
  const parts = Array.from({ length: digits }, (_, at) => {
    const { digit, term } = digitAt(at);
    const table = Array.from({ length: base }, (_, it) => term(it));
    return `('[0:${base - 1}]={${table}}'::int4[])[(${digit})::int4]`;
  });
  return `(${parts.join(' # ')})`;
}

/** A field with its value. */
export interface FieldValue {
  field: string;
  value: Uint8Array;
}

/** The value whose digits are replaced by those of a time. */
export const zeroTime = { value: Buffer.from(ZERO_TIME) } as const;

const BITS = 32;
const NIBBLES = BITS / 4;
const MAX_TABLES = 64;

/** The number of entries of a table: one for each value of each nibble of a sum. */
const TABLE_ENTRIES = NIBBLES * 16;

/** Returns SQL that applies the table that begins at an index of an array. */
export function mappedSum(sum: string, tables: string, from: string): string {
  const parts = Array.from(
    { length: NIBBLES },
    (_, at) => `(${tables})[${from} + ${at * 16 + 1} + ((${sum}) >> ${at * 4} & 15)]`,
  );
  return `(${parts.join(' # ')})`;
}

type SumFrom = (start: number) => number;

/** Computes other checksums of a record from the stored checksum of one of its fields, for any key of the record. */
export class SumMaps {
  readonly #from: SumFrom;
  /** Tables by the number of bytes that the target sum covers. */
  readonly #tables = new LruMap<number, Int32Array>(MAX_TABLES);

  constructor({ field, value }: FieldValue) {
    this.#from = (start) => sumBytes(value, sumName(field, start));
  }

  /** Returns the table for the checksums of fields of this length, name and value together. */
  tableFor({ field, value }: FieldValue): Int32Array {
    const bytes = lengthOf(field, value);
    const known = this.#tables.get(bytes);
    if (known) return known;
    const table = this.#tableTo((start) => sumBytes(new Uint8Array(bytes), start));
    this.#tables.set(bytes, table);
    return table;
  }

  /** Returns the number to XOR with the result of the table to get the checksum of a field. */
  constantFor({ field, value }: FieldValue, table: Int32Array): number {
    return apply(table, this.#from(0)) ^ sumBytes(value, sumName(field, 0));
  }

  /** The table and constant for the sum over the revision 0 of a record that does not expire. */
  toRevision(): { table: Int32Array; constant: number } {
    const to: SumFrom = (start) => sumInteger(null, sumInteger(0, start));
    const table = this.#tableTo(to);
    return { table, constant: apply(table, this.#from(0)) ^ to(0) };
  }

  #tableTo(to: SumFrom): Int32Array {
    const targets = solve(columnsOf(this.#from), columnsOf(to));
    const table = new Int32Array(TABLE_ENTRIES);
    for (const at of table.keys()) {
      const nibble = Math.floor(at / 16);
      for (let bit = 0; bit < 4; bit++) if (at & (1 << bit)) table[at]! ^= targets[nibble * 4 + bit]!;
    }
    return table;
  }
}

/** The number of bytes that the sum of a field covers: its name is encoded as UTF-16 and ends with NUL. */
function lengthOf(field: string, value: Uint8Array): number {
  let bytes = field.length + 1 + value.length;
  for (let at = 0; at < field.length; at++) if (field.charCodeAt(at) > 0xff) bytes++;
  return bytes;
}

function apply(table: Int32Array, sum: number): number {
  let result = 0;
  for (let nibble = 0; nibble < NIBBLES; nibble++) result ^= table[nibble * 16 + ((sum >>> (nibble * 4)) & 15)]!;
  return result;
}

/** Returns, for each bit of the start, how it changes a sum. */
function columnsOf(sum: SumFrom): Int32Array {
  return Int32Array.from({ length: BITS }, (_, bit) => sum(1 << bit) ^ sum(0));
}

/**
 * Returns, for each bit of one sum, how it changes the other, by Gaussian elimination. There is a solution, because
 * sums over the same bytes differ whenever their starts do.
 */
function solve(from: Int32Array, to: Int32Array): Int32Array {
  for (let bit = 0; bit < BITS; bit++) {
    const pivot = from.findIndex((column, at) => at >= bit && ((column >>> bit) & 1) === 1);
    for (const columns of [from, to]) [columns[bit], columns[pivot]] = [columns[pivot]!, columns[bit]!];
    for (let at = 0; at < BITS; at++) {
      if (at === bit || ((from[at]! >>> bit) & 1) === 0) continue;
      from[at]! ^= from[bit]!;
      to[at]! ^= to[bit]!;
    }
  }
  return to;
}

/**
 * Shifts checksums by a number of bytes. For any key, the checksums of two texts under that key differ by a constant,
 * once the first is shifted by the difference of their lengths. A script that knows one checksum can therefore compute
 * the other with a table, without reading any bytes.
 */
import { sumBytes, sumName } from '@tidemark/core/engine';

const ALL_ONES = 0xffff_ffff;
/** Parts of a sum that a table has results for, and the bits of each. */
const [PARTS, BITS] = [8, 4];
/** Names of workers have few lengths. */
const MAX_TABLES = 64;

/** The sums of single bytes after no others: one step of CRC-32, without the inversions before and after. */
const STEPS = Int32Array.from({ length: 256 }, (_, byte) => ~sumBytes(Uint8Array.of(byte), ALL_ONES | 0));
/** The byte whose step has these highest bits. */
const BY_HIGHEST = new Uint8Array(256);
for (const [byte, step] of STEPS.entries()) BY_HIGHEST[step >>> 24] = byte;

/** Moves a sum on by zero bytes, or back if their number is negative. Sums are without inversions. */
function moved(sum: number, bytes: number): number {
  let it = sum;
  for (let at = 0; at < bytes; at++) it = STEPS[it & 0xff]! ^ (it >>> 8);
  for (let at = 0; at > bytes; at--) {
    const byte = BY_HIGHEST[it >>> 24]!;
    it = ((it ^ STEPS[byte]!) << 8) | byte;
  }
  return it;
}

/** Sums the text of a field after no others, without inversions. */
function sumAlone(field: string, value: Uint8Array): number {
  return ~sumBytes(value, sumName(field, ALL_ONES | 0));
}

const tables = new Map<number, string>();

/** Returns the results for each part of a sum, as text of 32-bit integers whose characters are their bytes. */
function tableOf(bytes: number): string {
  const known = tables.get(bytes);
  if (known !== undefined) return known;
  const ofBits = Array.from({ length: PARTS * BITS }, (_, bit) => moved(1 << bit, bytes));
  const results = Buffer.alloc(PARTS * 2 ** BITS * 4);
  for (let part = 0; part < PARTS; part++) {
    for (let digit = 0; digit < 2 ** BITS; digit++) {
      let result = 0;
      for (let bit = 0; bit < BITS; bit++) if (digit & (1 << bit)) result ^= ofBits[part * BITS + bit]!;
      results.writeInt32LE(result, (part * 2 ** BITS + digit) * 4);
    }
  }
  const text = results.toString('latin1');
  if (tables.size >= MAX_TABLES) tables.clear();
  tables.set(bytes, text);
  return text;
}

/** How to get from the checksum of one field to that of another under the same key. */
export interface SumShift {
  table: string;
  /** Added (by XOR) to the result of the table. */
  constant: number;
}

/** Field names must be ASCII. */
export function sumShift(from: [field: string, value: Uint8Array], to: [field: string, value: Uint8Array]): SumShift {
  const bytes = to[0].length + to[1].length - from[0].length - from[1].length;
  const inverted = moved(ALL_ONES | 0, bytes);
  const constant = ~(inverted ^ moved(sumAlone(...from), bytes) ^ sumAlone(...to)) >>> 0;
  return { table: tableOf(bytes), constant };
}

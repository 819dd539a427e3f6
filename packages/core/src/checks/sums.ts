/**
 * Checksums of stored values: CRC-32 of the value's names followed by its bytes, so that a value moved to another row
 * is detected too. Short values are summed in JavaScript, because a call into zlib costs more than summing 100 bytes.
 */
import { crc32 } from 'node:zlib';

/** Up to this length, in bytes, the loop below is faster than the native call, which takes 160 ns. */
const SHORT = 160;

/** Four tables of 256 entries, so that one step sums four bytes. The first is the table for a single byte. */
const TABLE = new Int32Array(4 * 256);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  TABLE[byte] = sum;
}
for (let at = 256; at < TABLE.length; at++) TABLE[at] = TABLE[TABLE[at - 256]! & 0xff]! ^ (TABLE[at - 256]! >>> 8);

/** Continues a sum with several names, in order. Each name is terminated by NUL, which names cannot contain. */
export function sumNames(names: readonly string[], from = 0): number {
  let sum = from;
  for (const name of names) sum = sumName(name, sum);
  return sum;
}

/** Continues a sum with a name and a terminating NUL. */
export function sumName(name: string, from: number): number {
  let sum = ~from;
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    sum = TABLE[(sum ^ code) & 0xff]! ^ (sum >>> 8);
    if (code > 0xff) sum = TABLE[(sum ^ (code >>> 8)) & 0xff]! ^ (sum >>> 8);
  }
  return ~(TABLE[sum & 0xff]! ^ (sum >>> 8));
}

/** Continues a sum with bytes. The result is a signed 32-bit integer. */
export function sumBytes(bytes: Uint8Array, from: number): number {
  if (bytes.length > SHORT) return crc32(bytes, from >>> 0) | 0;
  let sum = ~from;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    sum ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    sum =
      TABLE[768 + (sum & 0xff)]! ^
      TABLE[512 + ((sum >>> 8) & 0xff)]! ^
      TABLE[256 + ((sum >>> 16) & 0xff)]! ^
      TABLE[sum >>> 24]!;
  }
  for (; at < bytes.length; at++) sum = TABLE[(sum ^ bytes[at]!) & 0xff]! ^ (sum >>> 8);
  return ~sum;
}

/** Continues a sum with the UTF-8 bytes of a string. */
export function sumText(text: string, from: number): number {
  return crc32(text, from >>> 0) | 0;
}

/** Continues a sum with an integer. `null` has its own sum. */
export function sumInteger(value: number | null, from: number): number {
  if (value === null) return ~(TABLE[~from & 0xff]! ^ (~from >>> 8));
  let sum = ~from;
  let rest = value >>> 0;
  for (let part = 0; part < 2; part++) {
    for (let byte = 0; byte < 4; byte++, rest >>>= 8) sum = TABLE[(sum ^ rest) & 0xff]! ^ (sum >>> 8);
    rest = Math.floor(value / 0x1_0000_0000) >>> 0;
  }
  return ~sum;
}

/** The order of field values and keys (KV-4, KV-5). */

const INTEGER = /^-?(0|[1-9][0-9]*)$/;
/** Tests the first character only: a cheap check before the value is converted to text. */
const DIGITS = /^[0-9-]/;

/**
 * Compares two field values: as integers of any size if both are written as integers, otherwise bytewise. A bytewise
 * comparison would sort "9" after "10".
 */
export function compareValues(a: Uint8Array, b: Uint8Array): number {
  const left = integerText(a);
  const right = left === null ? null : integerText(b);
  return left === null || right === null ? Buffer.compare(a, b) : compareIntegers(left, right);
}

function integerText(bytes: Uint8Array): string | null {
  if (bytes.length === 0 || !DIGITS.test(String.fromCharCode(bytes[0]!))) return null;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  return INTEGER.test(text) ? text : null;
}

function compareIntegers(a: string, b: string): number {
  const negativeA = a.startsWith('-') && a !== '-0';
  const negativeB = b.startsWith('-') && b !== '-0';
  if (negativeA !== negativeB) return negativeA ? -1 : 1;
  const size = compareMagnitudes(a.replace('-', ''), b.replace('-', ''));
  return negativeA ? -size : size;
}

function compareMagnitudes(a: string, b: string): number {
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Compares well-formed texts by their UTF-8 bytes. JavaScript's own order differs above U+FFFF. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return byteRank(left) < byteRank(right) ? -1 : 1;
  }
  return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
}

/** Surrogates encode code points above U+FFFF, so they rank above U+E000 to U+FFFF. */
function byteRank(codeUnit: number): number {
  if (codeUnit < 0xd800) return codeUnit;
  return codeUnit < 0xe000 ? codeUnit + 0x2000 : codeUnit - 0x800;
}

/** Returns the first distinct texts after `after`, in byte order. */
export function firstAfter(texts: Iterable<string>, after: string | null, limit: number): string[] {
  const later = [...new Set(texts)].filter((text) => after === null || compareKeys(text, after) > 0);
  return later.sort(compareKeys).slice(0, limit);
}

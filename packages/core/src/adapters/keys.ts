/**
 * Segments of adapters' kv keys. A segment can represent any text and contains no separator. Different texts have
 * different segments.
 */
import { sha256Hex } from '../hash.ts';

/** The maximum length of a segment. Five segments and the name of an adapter fit into a key. */
const MAX_SEGMENT = 90;
/** The number of hex digits (160 bits) of a hash that replaces a string. */
const HASH_DIGITS = 40;

/**
 * Encodes a string as a segment of a key. Letters, digits, `-` and `_` are kept; every other UTF-16 unit becomes `=` and
 * four hex digits. A string that is too long becomes `~` and its hash, so the caller must store the text if it is needed
 * later.
 */
export function keySegment(text: string): string {
  const escaped = text === '' ? '=' : text.replaceAll(/[^A-Za-z0-9_-]/g, escapeUnit);
  if (escaped.length <= MAX_SEGMENT) return escaped;
  return `~${sha256Hex(unitsOf(text)).slice(0, HASH_DIGITS)}`;
}

/** Returns the text of a segment, or `null` if the segment is a hash. */
export function segmentText(segment: string): string | null {
  if (segment.startsWith('~')) return null;
  if (segment === '=') return '';
  return segment.replaceAll(/=([0-9a-f]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Returns the first key after all keys that start with the prefix, which must end in ASCII. */
export function endOfPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

function escapeUnit(unit: string): string {
  return `=${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Returns the bytes of the UTF-16 units, because in UTF-8 all lone surrogates have the same bytes. */
function unitsOf(text: string): Uint8Array {
  return Buffer.from(text, 'utf16le');
}

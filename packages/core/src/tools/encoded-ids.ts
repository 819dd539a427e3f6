/**
 * Ids as parts of file and object names. Ids may contain any text (GEN-5), so they are encoded: different ids have
 * different names on every file system, and each can be decoded.
 */

/** File systems allow 255 bytes per name. */
const MAX_PART_LENGTH = 200;
/** Ends a part that continues in the next one. */
const CONTINUED = '+';

/**
 * Encodes an id: lowercase letters, digits, `_` and `-` are kept, and every other byte becomes `%` and two hex digits.
 * Names then differ even on file systems that ignore case.
 */
export function encodeId(id: string): string {
  let text = '';
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte);
    text += /[a-z0-9_-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
  }
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += MAX_PART_LENGTH) parts.push(text.slice(at, at + MAX_PART_LENGTH));
  return parts.join(`${CONTINUED}/`);
}

export function decodeId(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll(`${CONTINUED}/`, ''));
}

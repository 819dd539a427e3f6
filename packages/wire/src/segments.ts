/**
 * Ids in paths (GEN-5): percent-encoded, and with a tilde in front where the plain form would be lost: `.` and `..` vanish
 * from paths even when encoded, so they travel as `~.` and `~..`, and an id that begins with a tilde gets another one.
 */
import { checkId, invalidArgument } from '@tidemark/core/portable';

/** Returns the segment that stands for an id; throws `INVALID_ARGUMENT` for a value that is not an id. */
export function segmentOf(id: unknown, field: string): string {
  return encodeSegment(checkId(id, field));
}

/** Returns the segment that stands for any well-formed text. */
export function encodeSegment(text: string): string {
  const encoded = encodeURIComponent(text);
  return text === '.' || text === '..' || text.startsWith('~') ? `~${encoded}` : encoded;
}

/** Returns the id that a segment of a path stands for; throws `INVALID_ARGUMENT` for one that is not percent-encoded UTF-8. */
export function idOfSegment(segment: string, field: string): string {
  const id = decodeSegment(segment);
  if (id === null) throw invalidArgument(field, 'percent-encoded UTF-8', segment);
  return id;
}

/** Returns the text that a segment stands for, or `null` when it is not percent-encoded UTF-8. */
export function decodeSegment(segment: string): string | null {
  try {
    const text = decodeURIComponent(segment);
    return text.startsWith('~') ? text.slice(1) : text;
  } catch {
    return null;
  }
}

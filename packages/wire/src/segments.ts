/**
 * Ids in paths (GEN-5). Ids are percent-encoded, with a leading tilde where URL parsing would change the id: `.` and
 * `..` vanish from paths even when encoded, so they are sent as `~.` and `~..`. An id that begins with a tilde gets a
 * second tilde.
 */
import { checkId, invalidArgument } from '@tidemark/core/portable';

/** Encodes an id as a path segment. Throws `INVALID_ARGUMENT` for an invalid id. */
export function segmentOf(id: unknown, field: string): string {
  return encodeSegment(checkId(id, field));
}

/** Encodes any well-formed text as a path segment. */
export function encodeSegment(text: string): string {
  const encoded = encodeURIComponent(text);
  return text === '.' || text === '..' || text.startsWith('~') ? `~${encoded}` : encoded;
}

/** Decodes an id from a path segment. Throws `INVALID_ARGUMENT` unless it is percent-encoded UTF-8. */
export function idOfSegment(segment: string, field: string): string {
  const id = decodeSegment(segment);
  if (id === null) throw invalidArgument(field, 'percent-encoded UTF-8', segment);
  return id;
}

/** Decodes a path segment, or returns `null` if it is not percent-encoded UTF-8. */
export function decodeSegment(segment: string): string | null {
  try {
    const text = decodeURIComponent(segment);
    return text.startsWith('~') ? text.slice(1) : text;
  } catch {
    return null;
  }
}

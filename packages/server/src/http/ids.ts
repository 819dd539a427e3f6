/**
 * Ids in paths (GEN-5): percent-encoded, and with a tilde in front where the plain form would be lost: `.` and `..` vanish
 * from paths even when encoded, so they travel as `~.` and `~..`, and an id that begins with a tilde gets another one.
 */
import { invalidArgument } from '@tidemark/core';

/** The id that a segment of a path stands for. */
export function idOfSegment(segment: string, field: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw invalidArgument(field, 'percent-encoded UTF-8', segment);
  }
  return text.startsWith('~') ? text.slice(1) : text;
}

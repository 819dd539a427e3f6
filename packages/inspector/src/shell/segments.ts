/**
 * Ids in paths, here and on the server: percent-encoded, and with a tilde in front where the plain form would be lost,
 * as `.` and `..` vanish from paths even when encoded.
 */

export function encodeSegment(id: string): string {
  const isLost = id === '.' || id === '..' || id.startsWith('~');
  return `${isLost ? '~' : ''}${encodeURIComponent(id)}`;
}

/** The id, or the segment as it stands when it is no encoding of one. */
export function decodeSegment(segment: string): string {
  try {
    const text = decodeURIComponent(segment);
    return text.startsWith('~') ? text.slice(1) : text;
  } catch {
    return segment;
  }
}

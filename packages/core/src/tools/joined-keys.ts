/**
 * Keys made of several parts (GEN-5): `%` and `/` within a part are escaped and parts are joined by `/`, so that
 * different parts never give the same key and a prefix of whole parts matches nothing else.
 */

/** What stands for an absent part; no text is escaped to it. */
const ABSENT = '%-';

/** One key of several parts; `null` is an absent part, different from every text. */
export function joinKey(parts: readonly (string | null)[]): string {
  return parts.map(escapePart).join('/');
}

/** The prefix of all keys that begin with these parts and have more. */
export function keyPrefix(parts: readonly (string | null)[]): string {
  return `${joinKey(parts)}/`;
}

/** The parts of a key that `joinKey` made. */
export function splitKey(key: string): (string | null)[] {
  return key.split('/').map((part) => {
    return part === ABSENT ? null : part.replaceAll('%2F', '/').replaceAll('%25', '%');
  });
}

function escapePart(part: string | null): string {
  return part === null ? ABSENT : part.replaceAll('%', '%25').replaceAll('/', '%2F');
}

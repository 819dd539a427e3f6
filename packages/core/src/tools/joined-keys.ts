/**
 * Keys made of several parts (GEN-5): `%` and `/` within a part are escaped and parts are joined by `/`. Different
 * parts never make the same key, and a prefix of whole parts matches only keys that begin with those parts.
 */

/** Encodes an absent part. No escaped text is equal to it. */
const ABSENT = '%-';

/** Joins parts into a key. `null` is an absent part, distinct from every text. */
export function joinKey(parts: readonly (string | null)[]): string {
  return parts.map(escapePart).join('/');
}

/** Returns the prefix of all keys that begin with these parts and have more. */
export function keyPrefix(parts: readonly (string | null)[]): string {
  return `${joinKey(parts)}/`;
}

/** Splits a key made by `joinKey` into its parts. */
export function splitKey(key: string): (string | null)[] {
  return key.split('/').map((part) => {
    return part === ABSENT ? null : part.replaceAll('%2F', '/').replaceAll('%25', '%');
  });
}

function escapePart(part: string | null): string {
  return part === null ? ABSENT : part.replaceAll('%', '%25').replaceAll('/', '%2F');
}

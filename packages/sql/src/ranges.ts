/** Ranges of keys in byte order. A prefix becomes a range, because LIKE treats `%` and `_` as wildcards (GEN-5). */
import { compareKeys } from '@tidemark/core/engine';

/** A condition on a text column and its parameters. */
interface SqlRange {
  sql: string;
  params: string[];
}

/** Selects keys that start with a prefix, optionally after a given key. */
export function keyRange(column: string, prefix: string, after: string | null): SqlRange {
  const follows = after !== null && compareKeys(after, prefix) >= 0;
  const sql = follows ? `${column} > ?` : `${column} >= ?`;
  const params = [follows ? after : prefix];
  const end = endOfPrefix(prefix);
  return end === null ? { sql, params } : { sql: `${sql} AND ${column} < ?`, params: [...params, end] };
}

/**
 * Returns the lowest text above all that start with the prefix, or `null` if there is none. UTF-8 sorts by code points.
 */
function endOfPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue;
    // The code points from U+D800 on are surrogates, which are not valid in text.
    points.push(last === 0xd7ff ? 0xe000 : last + 1);
    return String.fromCodePoint(...points);
  }
  return null;
}

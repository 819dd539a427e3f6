/** Ranges of keys in byte order. A prefix becomes a range, because LIKE treats `%` and `_` as wildcards (GEN-5). */
import { boundsOf, type KeyBounds } from '@tidemark/core/engine';

/** A condition on a text column and its parameters. */
interface SqlRange {
  sql: string;
  params: string[];
}

/** Selects keys that start with a prefix, optionally after a given key. */
export function keyRange(column: string, prefix: string, after: string | null): SqlRange {
  return rangeWithin(column, boundsOf({ prefix, after }));
}

/** Selects keys within bounds. */
export function rangeWithin(column: string, { low, lowIncluded, high }: KeyBounds): SqlRange {
  const sql = `${column} ${lowIncluded ? '>=' : '>'} ?`;
  return high === null ? { sql, params: [low] } : { sql: `${sql} AND ${column} < ?`, params: [low, high] };
}

/**
 * Limits the number of statement variants, so that they stay prepared, and their size, so that no statement holds a
 * lock for long.
 */

const MAX_BATCH = 128;

/** Yields batches of 128, 64, … 2, 1 items: any number of rows needs few distinct statements. */
export function* batchesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (let size = MAX_BATCH; size >= 1; size /= 2) {
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
  }
}

/** Returns one row of placeholders per item: `(?, ?, ?), (?, ?, ?)`. */
export function placeholders(rows: number, row: string): string {
  return Array<string>(rows).fill(row).join(', ');
}

/** Caches the text of a statement per number of rows, because building and hashing it costs a microsecond. */
export function bySize(text: (size: number) => string): (size: number) => string {
  return byPart(text);
}

/** Caches the text of a statement per variable part. There must be few such parts. */
export function byPart<Part extends string | number>(text: (part: Part) => string): (part: Part) => string {
  const texts = new Map<Part, string>();
  return (part) => {
    let known = texts.get(part);
    if (known === undefined) {
      known = text(part);
      texts.set(part, known);
    }
    return known;
  };
}

/** Pads the keys of an IN list to 1, 10, 100 or 1 000 by repeating the last one. */
export function paddedKeys(keys: readonly string[]): string[] {
  let size = 1;
  while (size < keys.length) size *= 10;
  return [...keys, ...Array<string>(size - keys.length).fill(keys.at(-1)!)];
}

/**
 * Removes up to `limit` rows in small steps, until a step removes fewer than it could. Returns how many were removed.
 */
export async function removeInSteps(
  limit: number,
  step: number,
  remove: (most: number) => Promise<number>,
): Promise<number> {
  let removed = 0;
  while (removed < limit) {
    const most = Math.min(step, limit - removed);
    const count = await remove(most);
    removed += count;
    if (count < most) break;
  }
  return removed;
}

/**
 * Selects the distinct values of a text column in order, skipping from one to the next through an index that starts
 * with it.
 */
export function distinctSql(table: string, column: string, of = ''): string {
  return `
    WITH RECURSIVE found (item) AS (
      SELECT min(${column}) FROM @${table} WHERE ${of}${column} > ?
      UNION ALL
      SELECT (SELECT min(${column}) FROM @${table} WHERE ${of}${column} > found.item) FROM found WHERE found.item IS NOT NULL
    )
    SELECT item FROM found WHERE item IS NOT NULL LIMIT ?`;
}

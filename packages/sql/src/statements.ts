/** How statements of one shape are kept few, so that they stay prepared, and short, so that none holds a lock for long. */

const LARGEST_BATCH = 128;

/** The items in batches of 128, 64, … 2, 1: any number of rows takes few statements of few different texts. */
export function* batchesOf<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0;
  for (let size = LARGEST_BATCH; size >= 1; size /= 2) {
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
  }
}

/** `(?, ?, ?), (?, ?, ?)`: a row of placeholders per item. */
export function placeholders(rows: number, row: string): string {
  return Array<string>(rows).fill(row).join(', ');
}

/** Remembers the text of a statement for each number of rows: to build and hash it anew costs a microsecond. */
export function bySize(text: (size: number) => string): (size: number) => string {
  const texts = new Map<number, string>();
  return (size) => {
    let known = texts.get(size);
    if (known === undefined) {
      known = text(size);
      texts.set(size, known);
    }
    return known;
  };
}

/** Keys for an IN list, filled up with the last one to 1, 10, 100 or 1 000. */
export function paddedKeys(keys: readonly string[]): string[] {
  let size = 1;
  while (size < keys.length) size *= 10;
  return [...keys, ...Array<string>(size - keys.length).fill(keys.at(-1)!)];
}

/** Removes up to `limit` rows, a few at a time, until a step finds less than it may take; gives how many. */
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

/** The values of a text column after one of them, from each straight to the next by an index that begins with them. */
export function distinctSql(table: string, column: string, of = ''): string {
  return `
    WITH RECURSIVE found (item) AS (
      SELECT min(${column}) FROM @${table} WHERE ${of}${column} > ?
      UNION ALL
      SELECT (SELECT min(${column}) FROM @${table} WHERE ${of}${column} > found.item) FROM found WHERE found.item IS NOT NULL
    )
    SELECT item FROM found WHERE item IS NOT NULL LIMIT ?`;
}

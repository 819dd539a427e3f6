/**
 * Merges sorted items of several buckets: reads a page of each bucket, and another page whenever one has been used up.
 */

export interface Ordered<T> {
  buckets: number;
  /** Returns the items of a bucket after an item, or from the start. Returns fewer than `limit` only at the end. */
  read(bucket: number, after: T | null, limit: number): Promise<T[]>;
  compare(a: T, b: T): number;
}

interface Lane<T> {
  items: T[];
  at: number;
  ended: boolean;
}

const MIN_PAGE = 8;

export class Merge<T> {
  readonly #source: Ordered<T>;
  readonly #page: number;
  readonly #lanes: Lane<T>[];

  /** `expected` is the number of items that will probably be taken. */
  constructor(source: Ordered<T>, expected: number) {
    this.#source = source;
    this.#page = Math.max(MIN_PAGE, Math.ceil((expected / source.buckets) * 1.5));
    this.#lanes = Array.from({ length: source.buckets }, () => ({ items: [], at: 0, ended: false }));
  }

  /** Returns the next items; fewer than `count` only at the end. */
  async take(count: number): Promise<T[]> {
    const taken: T[] = [];
    while (taken.length < count) {
      await this.#fill();
      const lane = this.#first();
      if (!lane) break;
      taken.push(lane.items[lane.at++]!);
    }
    return taken;
  }

  /**
   * Loads the next page of every bucket that has run out: an item can be taken only when the next item of every bucket
   * is known.
   */
  async #fill(): Promise<void> {
    const empty = this.#lanes.flatMap((lane, bucket) => (isEmpty(lane) && !lane.ended ? [{ lane, bucket }] : []));
    if (empty.length === 0) return;
    await Promise.all(
      empty.map(async ({ lane, bucket }) => {
        const items = await this.#source.read(bucket, lane.items.at(-1) ?? null, this.#page);
        lane.ended = items.length < this.#page;
        // The last item is kept as the position to continue from.
        if (items.length > 0) Object.assign(lane, { items, at: 0 });
      }),
    );
  }

  #first(): Lane<T> | undefined {
    let first: Lane<T> | undefined;
    for (const lane of this.#lanes) {
      if (isEmpty(lane)) continue;
      if (!first || this.#source.compare(lane.items[lane.at]!, first.items[first.at]!) < 0) first = lane;
    }
    return first;
  }
}

function isEmpty(lane: Lane<unknown>): boolean {
  return lane.at >= lane.items.length;
}

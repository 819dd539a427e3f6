/** The part of a limit that is dropped at once. */
const DROPPED = 1 / 16;

/**
 * A map that keeps what was used last. Past its limit it drops a sixteenth of it at once, beginning with the entry that was not
 * used for longest: to find the first entry of a `Map` means to step over the holes of those that were deleted, which takes
 * microseconds in a large one.
 */
export class LruMap<Key, Value> {
  /** In the order of their last use, which is the order of insertion. */
  readonly #values = new Map<Key, Value>();
  readonly #limit: number;
  readonly #weigh: ((value: Value) => number) | undefined;
  /** Weights as they were when their values were set: a value may change meanwhile. */
  readonly #weights = new Map<Key, number>();
  #totalWeight = 0;

  /** Keeps up to `limit` entries or, with `weigh`, entries of that weight together. */
  constructor(limit: number, weigh?: (value: Value) => number) {
    this.#limit = limit;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#values.size;
  }

  /** Returns a value and counts that as a use. */
  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Returns a value without counting it as a use: cheaper, for callers that set what they use. */
  peek(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  has(key: Key): boolean {
    return this.#values.has(key);
  }

  /** Sets a value, weighed anew. Others may be dropped for it, never the value itself. */
  set(key: Key, value: Value): void {
    this.delete(key);
    this.#values.set(key, value);
    if (this.#weigh) {
      const weight = this.#weigh(value);
      this.#weights.set(key, weight);
      this.#totalWeight += weight;
    }
    if (this.#load > this.#limit) this.#dropOldest(key);
  }

  /** Sets a value, which counts as a use only where the key is new: for entries that are set too often to be moved each time. */
  replace(key: Key, value: Value): void {
    if (this.#weigh) this.set(key, value);
    else {
      this.#values.set(key, value);
      if (this.#values.size > this.#limit) this.#dropOldest(key);
    }
  }

  delete(key: Key): boolean {
    if (this.#weigh) {
      this.#totalWeight -= this.#weights.get(key) ?? 0;
      this.#weights.delete(key);
    }
    return this.#values.delete(key);
  }

  /** The entries, the one that was not used for longest first. */
  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#values.entries();
  }

  /** What the limit bounds. */
  get #load(): number {
    return this.#weigh ? this.#totalWeight : this.#values.size;
  }

  #dropOldest(except: Key): void {
    const target = this.#limit - Math.floor(this.#limit * DROPPED);
    for (const key of this.#values.keys()) {
      if (this.#load <= target || key === except) return;
      this.delete(key);
    }
  }
}

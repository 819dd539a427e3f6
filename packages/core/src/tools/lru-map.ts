/** The fraction of the limit that is dropped at once. */
const DROPPED = 1 / 16;

/**
 * An LRU map. When it exceeds its limit, it drops a sixteenth of the limit at once, least recently used first. Dropping
 * single entries would be slow: finding the first entry of a large `Map` takes microseconds, because the search steps
 * over deleted entries.
 */
export class LruMap<Key, Value> {
  /** In order of last use, which is insertion order. */
  readonly #values = new Map<Key, Value>();
  readonly #limit: number;
  readonly #weigh: ((value: Value) => number) | undefined;
  /** Weights at the time of `set`: a value may change afterwards. */
  readonly #weights = new Map<Key, number>();
  #totalWeight = 0;

  /** Keeps up to `limit` entries or, with `weigh`, entries of that total weight. */
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

  /** Returns a value without counting a use. Cheaper, for callers that set what they use. */
  peek(key: Key): Value | undefined {
    return this.#values.get(key);
  }

  has(key: Key): boolean {
    return this.#values.has(key);
  }

  /** Sets a value and weighs it. May drop other entries, never this one. */
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

  /**
   * Sets a value, which counts as a use only for a new key. For entries that are set too often to be moved each time.
   */
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

  clear(): void {
    this.#values.clear();
    this.#weights.clear();
    this.#totalWeight = 0;
  }

  /** Iterates over the entries, least recently used first. */
  [Symbol.iterator](): IterableIterator<[Key, Value]> {
    return this.#values.entries();
  }

  /** The measure that the limit bounds: weight or size. */
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

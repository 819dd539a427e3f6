/** What was used last, up to a total weight; the one that was not used for longest goes first. */
export class Recent<Value> {
  readonly #values = new Map<string, { value: Value; weight: number }>();
  readonly #limit: number;
  readonly #weigh: (value: Value) => number;
  #total = 0;

  constructor(limit: number, weigh: (value: Value) => number = () => 1) {
    this.#limit = limit;
    this.#weigh = weigh;
  }

  get(key: string): Value | undefined {
    const held = this.#values.get(key);
    if (!held) return undefined;
    this.#values.delete(key);
    this.#values.set(key, held);
    return held.value;
  }

  /** Keeps a value, weighed anew; others may have to go for it, never the value itself. */
  set(key: string, value: Value): void {
    this.delete(key);
    const weight = this.#weigh(value);
    this.#values.set(key, { value, weight });
    this.#total += weight;
    for (const oldest of this.#values.keys()) {
      if (this.#total <= this.#limit || oldest === key) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const held = this.#values.get(key);
    if (!held) return;
    this.#values.delete(key);
    this.#total -= held.weight;
  }
}

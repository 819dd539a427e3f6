/** Something that may happen so often a second, and for a moment more often. */
export class Bucket {
  readonly #perSecond: number;
  readonly #most: number;
  #left: number;
  #at = performance.now();

  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#left = most;
  }

  get isEmpty(): boolean {
    this.#fill();
    return this.#left < 1;
  }

  get isFull(): boolean {
    this.#fill();
    return this.#left >= this.#most;
  }

  /** Tells whether there was one to take. */
  take(): boolean {
    if (this.isEmpty) return false;
    this.#left--;
    return true;
  }

  #fill(): void {
    const now = performance.now();
    this.#left = Math.min(this.#most, this.#left + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
  }
}

/** A token bucket: a rate per second with bursts. */
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

  /** The number of whole seconds, at least 1, until a token is available. */
  get secondsUntilFilled(): number {
    return Math.max(1, Math.ceil((1 - this.#left) / this.#perSecond));
  }

  /** Takes a token. Returns whether one was available. */
  take(): boolean {
    if (this.isEmpty) return false;
    this.#left--;
    return true;
  }

  /**
   * Takes as many tokens as were used, even if fewer are left. Later calls then wait until the missing tokens are
   * refilled.
   */
  charge(count: number): void {
    this.#fill();
    this.#left -= count;
  }

  #fill(): void {
    const now = performance.now();
    this.#left = Math.min(this.#most, this.#left + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
  }
}

/** A token bucket: limits a rate within this process and allows bursts. */

export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: () => number;
  #tokens: number;
  #filledAt: number;

  constructor(perSecond: number, burst: number, clock: () => number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#filledAt = clock();
  }

  /**
   * Takes tokens and returns 0, or takes none and returns the milliseconds until it could. A call for more tokens than
   * the bucket can hold needs a full bucket and makes it negative, so the call is possible and the rate is still kept.
   */
  take(count: number): number {
    this.#fill();
    const needed = Math.min(count, this.#burst);
    if (this.#tokens < needed) return Math.ceil(((needed - this.#tokens) / this.#perSecond) * 1_000);
    this.#tokens -= count;
    return 0;
  }

  giveBack(count: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + count);
  }

  #fill(): void {
    const now = this.#clock();
    const refill = (Math.max(0, now - this.#filledAt) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + refill);
    this.#filledAt = now;
  }
}

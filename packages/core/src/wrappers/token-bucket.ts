/** A rate with room for bursts: tokens come in steadily and are taken by calls, in this process only. */

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
   * Takes tokens and gives 0, or takes none and gives the milliseconds until it could. A call larger than the bucket
   * takes a full one and leaves a debt, so that it comes to pass at all and the rate still holds.
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
    const came = (Math.max(0, now - this.#filledAt) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + came);
    this.#filledAt = now;
  }
}

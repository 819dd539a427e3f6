/**
 * The clock of stores without a server. It follows the wall clock and never goes back. When the wall clock is set back,
 * it continues by elapsed time, so that leases, pauses and records still expire on time.
 */
import type { StoreOptions } from '../contracts/store.ts';

export class SteadyClock {
  readonly #wall: () => number;
  readonly #elapsed: () => number;
  /** A time and the elapsed time at which it was read. Both only increase. */
  #base: number;
  #baseAt: number;

  readonly #isInjected: boolean;

  /**
   * A clock injected without `monotonic` is followed in both directions, for tests and demos that write in the past.
   */
  constructor({ clock, monotonic }: Pick<StoreOptions, 'clock' | 'monotonic'> = {}) {
    this.#wall = clock ?? Date.now;
    this.#elapsed = monotonic ?? (() => performance.now());
    this.#isInjected = clock !== undefined && monotonic === undefined;
    this.#base = this.#wall();
    this.#baseAt = this.#elapsed();
  }

  /** Whole milliseconds since the epoch. */
  readonly now = (): number => {
    if (this.#isInjected) return this.#wall();
    const [wall, elapsed] = [this.#wall(), this.#elapsed()];
    const reached = this.#base + elapsed - this.#baseAt;
    if (wall <= reached) return Math.floor(reached);
    this.#base = wall;
    this.#baseAt = elapsed;
    return Math.floor(wall);
  };

  /** Advances the clock to at least this time. */
  advanceTo(time: number): void {
    if (time <= this.now()) return;
    this.#base = time;
    this.#baseAt = this.#elapsed();
  }

  /** Returns by how many milliseconds this clock is ahead of the wall clock. */
  aheadMs(): number {
    return this.now() - this.#wall();
  }
}

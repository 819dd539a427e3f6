/**
 * The clock of stores that have no server's: it follows the wall clock and never goes back. When the wall clock is set
 * back, it goes on by elapsed time, so that leases, pauses and records end when they were to end.
 */
import type { StoreOptions } from '../contracts/store.ts';

export class SteadyClock {
  readonly #wall: () => number;
  readonly #elapsed: () => number;
  /** A time, and the elapsed time at which it was read; moved only forward. */
  #base: number;
  #baseAt: number;

  readonly #isInjected: boolean;

  /** A clock that is injected without `monotonic` is followed wherever it goes: it writes the past, in tests and demos. */
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

  /** Makes it at least this time. */
  advanceTo(time: number): void {
    if (time <= this.now()) return;
    this.#base = time;
    this.#baseAt = this.#elapsed();
  }

  /** By how many milliseconds the wall clock is behind. */
  aheadMs(): number {
    return this.now() - this.#wall();
  }
}

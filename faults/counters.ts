/**
 * Counters incremented by conditional writes, each with a request id: an acknowledged swap must be applied exactly
 * once. A counter with one caller must be exact. A shared counter may also include swaps of unknown outcome.
 */
import { randomUUID } from 'node:crypto';
import { isTidemarkError, numberOf, type Store } from '@tidemark/core';

interface Tally {
  swapped: number;
  unknown: number;
}

export class Counters {
  readonly #store: Store;
  readonly #tallies = new Map<string, Tally>();
  /** Broken guarantees. */
  readonly problems: string[] = [];

  constructor(store: Store) {
    this.#store = store;
  }

  get swapped(): number {
    return [...this.#tallies.values()].reduce((sum, tally) => sum + tally.swapped, 0);
  }

  /**
   * Tries to increment a counter. If the counter belongs to this caller alone, a swap of unknown outcome is retried
   * until it is known.
   */
  async raise(key: string, owned: boolean, pause: () => Promise<void>): Promise<void> {
    const tally = this.#tallies.get(key) ?? { swapped: 0, unknown: 0 };
    this.#tallies.set(key, tally);
    const requestId = randomUUID();
    let value: number | null | undefined;
    for (;;) {
      try {
        value ??= numberOf(await this.#store.kv.getField(key, 'value'));
        const swapped = await this.#store.kv.compareAndSwap(key, 'value', value, (value ?? 0) + 1, { requestId });
        if (swapped) tally.swapped++;
        else if (owned) this.problems.push(`${key}: nobody else writes it, and yet it was not ${value}`);
        return;
      } catch (error) {
        if (!isTidemarkError(error) || !error.retryable) {
          this.problems.push(`a swap of ${key} failed with ${error}`);
          return;
        }
        if (error.outcome === 'unknown' && !owned) {
          tally.unknown++;
          return;
        }
      }
      await pause();
    }
  }

  /** Compares the stored counters with the acknowledged swaps. */
  async check(): Promise<void> {
    for (const [key, { swapped, unknown }] of this.#tallies) {
      const value = numberOf(await this.#store.kv.getField(key, 'value')) ?? 0;
      if (value < swapped) this.problems.push(`${key} is ${value}: ${swapped - value} acknowledged swaps were lost`);
      if (value > swapped + unknown)
        this.problems.push(
          `${key} is ${value}, though only ${swapped} swaps were acknowledged and ${unknown} are unknown`,
        );
    }
  }
}

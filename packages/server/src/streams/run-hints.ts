/**
 * Hears of new events in runs. The hints of the engine itself cost an idle run nothing but a place in a list, so that ten
 * thousand of them can be followed; a hint that is missed costs a reader some seconds, never an event.
 */
import type { Store } from '@tidemark/core';
import { engineOf, type RunEngine, type RunKey } from '@tidemark/core/engine';

/** How long hints alone are trusted: for a start not long, then longer while nothing comes. */
const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 15_000;
const LOOKS_APART_MS = 2;

export class RunHints {
  readonly #engine: RunEngine | null;
  #followed = 0;

  constructor(store: Store) {
    this.#engine = engineOf(store)?.runs ?? null;
  }

  /** False for stores that others have wrapped: their engine is not to be seen. */
  get areHeard(): boolean {
    return this.#engine !== null;
  }

  /** Gives something whenever the run may have more; `keyOf` is `null` while nobody knows whose run it is. */
  async *follow(keyOf: () => RunKey | null, signal: AbortSignal): AsyncGenerator<void> {
    this.#followed++;
    try {
      for (let lookMs = FIRST_LOOK_MS; !signal.aborted; ) {
        const deadline = Date.now() + this.#paced(lookMs);
        // Heard from before the look on, so that what is stored in between is not missed.
        const woken = this.#engine!.waitForEvents(keyOf(), { signal, deadline });
        yield;
        await woken;
        lookMs = Date.now() < deadline ? FIRST_LOOK_MS : Math.min(lookMs * 2, LONGEST_LOOK_MS);
      }
    } finally {
      this.#followed--;
    }
  }

  /** Thousands of followed runs together look no more often than once in a few milliseconds. */
  #paced(lookMs: number): number {
    return Math.max(lookMs, Math.min(this.#followed * LOOKS_APART_MS, LONGEST_LOOK_MS));
  }
}

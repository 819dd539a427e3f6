/**
 * Notifications of new events in runs. The engine's hints cost an idle run only an entry in a list, so ten thousand
 * runs can be followed. A missed hint delays a reader by some seconds and never loses an event.
 */
import type { Store } from '@tidemark/core';
import { engineOf, type RunEngine, type RunKey } from '@tidemark/core/engine';

/** How long to rely on hints alone: briefly at first, then longer while nothing arrives. */
const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 15_000;
const LOOKS_APART_MS = 2;

export class RunHints {
  readonly #engine: RunEngine | null;
  #followed = 0;

  constructor(store: Store) {
    this.#engine = engineOf(store)?.runs ?? null;
  }

  /** False for wrapped stores, whose engine is not accessible. */
  get areAvailable(): boolean {
    return this.#engine !== null;
  }

  /** Yields whenever the run may have new events. `keyOf` returns `null` while the run's tenant is unknown. */
  async *follow(keyOf: () => RunKey | null, signal: AbortSignal): AsyncGenerator<void> {
    this.#followed++;
    try {
      for (let lookMs = FIRST_LOOK_MS; !signal.aborted; ) {
        const deadline = Date.now() + this.#paced(lookMs);
        // Start waiting before the read, so that events stored in between are not missed.
        const woken = this.#engine!.waitForEvents(keyOf(), { signal, deadline });
        yield;
        await woken;
        lookMs = Date.now() < deadline ? FIRST_LOOK_MS : Math.min(lookMs * 2, LONGEST_LOOK_MS);
      }
    } finally {
      this.#followed--;
    }
  }

  /** Limits the polling rate of thousands of followed runs to one read every few milliseconds. */
  #paced(lookMs: number): number {
    return Math.max(lookMs, Math.min(this.#followed * LOOKS_APART_MS, LONGEST_LOOK_MS));
  }
}

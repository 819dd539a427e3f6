/**
 * Notifications of new events in runs. With the engine's hints, following an idle run costs only a list entry, so ten
 * thousand runs can be followed. A missed hint delays a reader by a few seconds but never loses an event.
 */
import type { Store } from '@tidemark/core';
import { engineOf, type RunEngine, type RunKey } from '@tidemark/core/engine';

/** How long to rely on hints alone before the run is read again. This time grows while nothing arrives. */
const FIRST_LOOK_MS = 500;
const MAX_LOOK_MS = 15_000;
const LOOKS_APART_MS = 2;

export class RunHints {
  readonly #engine: RunEngine | null;
  #followed = 0;

  constructor(store: Store) {
    this.#engine = engineOf(store)?.runs ?? null;
  }

  /** Whether hints are available. They are not for wrapped stores, whose engine is not accessible. */
  get areAvailable(): boolean {
    return this.#engine !== null;
  }

  /** Yields whenever the run may have new events. `keyOf` returns `null` while the run's tenant is unknown. */
  async *follow(keyOf: () => RunKey | null, signal: AbortSignal): AsyncGenerator<void> {
    this.#followed++;
    try {
      for (let lookMs = FIRST_LOOK_MS; !signal.aborted; ) {
        const deadline = Date.now() + this.#paced(lookMs);
        // The wait starts before the read, so that events stored in between are not missed.
        const woken = this.#engine!.waitForEvents(keyOf(), { signal, deadline });
        yield;
        await woken;
        lookMs = Date.now() < deadline ? FIRST_LOOK_MS : Math.min(lookMs * 2, MAX_LOOK_MS);
      }
    } finally {
      this.#followed--;
    }
  }

  /**
   * Returns the time until the next read, which limits polling for thousands of followed runs to one read every few
   * milliseconds.
   */
  #paced(lookMs: number): number {
    return Math.max(lookMs, Math.min(this.#followed * LOOKS_APART_MS, MAX_LOOK_MS));
  }
}

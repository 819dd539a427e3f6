/** A second connection to a store's data that stalls before it saves a snapshot until `resume` is called. */
import type { Store } from '@tidemark/core';
import { withRuns } from '@tidemark/core/engine';

export interface StallingStore {
  store: Store;
  /** Resolves when a snapshot is about to be saved. */
  stalled: Promise<void>;
  resume(): void;
}

/** The store shares the engine of the original and closes with it. */
export function stallingSnapshots(store: Store): StallingStore {
  const stall = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const stalling = withRuns(store, (runs) => ({
    async saveSnapshot(run, snapshot, call, over) {
      stall.resolve();
      await gate.promise;
      return runs.saveSnapshot(run, snapshot, call, over);
    },
  }));
  return { store: stalling!, stalled: stall.promise, resume: gate.resolve };
}

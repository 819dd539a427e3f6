/**
 * A store that returns one event of a run in damaged form until it is repaired: the same data through another run
 * engine. Tests that damage an engine's own storage are in the engine's package.
 */
import type { Store } from '@tidemark/core';
import { isDamaged, isNotice, type RunKey, type StoredRunEvent, withRuns } from '@tidemark/core/engine';

/** The event that is currently damaged, shared by all views. */
export interface Damage {
  run: RunKey | null;
  runSeq: number;
}

/** Returns the store with the damage applied. Closing it closes the store. */
export function damagedStore(store: Store, damage: Damage): Store {
  const isIt = (run: RunKey, event: StoredRunEvent) =>
    damage.run?.runId === run.runId && damage.run.tenantId === run.tenantId && event.runSeq === damage.runSeq;
  const read = (run: RunKey, events: StoredRunEvent[]) =>
    events.map((event) => (isIt(run, event) ? { ...event, payload: '{"n":"changed"}' } : event));
  return withRuns(store, (engine) => ({
    async fetch(run, afterSeq, limit, call) {
      const page = await engine.fetch(run, afterSeq, limit, call);
      return { ...page, events: read(run, page.events), lead: read(run, page.lead) };
    },
    async feed(...args) {
      const entries = await engine.feed(...args);
      return entries.map((entry) =>
        isDamaged(entry) || isNotice(entry) ? entry : { ...entry, event: read(entry.run, [entry.event])[0]! },
      );
    },
  }))!;
}

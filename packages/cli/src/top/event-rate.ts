/** Counts the events that were stored between two calls, by looking at the runs that changed in between. */
import type { RunStore, RunSummary } from '@tidemark/core';

/**
 * Maximum number of changed runs that are counted at once, and of events that are counted for a run seen for the first
 * time.
 */
const MOST = 1_000;

export class EventCounter {
  readonly #runs: RunStore;
  readonly #sequences = new Map<string, number>();
  #since: string;

  constructor(runs: RunStore) {
    this.#runs = runs;
    this.#since = new Date().toISOString();
  }

  /** Returns the number of events stored since the last call. The number is not exact if too many runs changed. */
  async count(): Promise<{ count: number; exact: boolean }> {
    const since = this.#since;
    const { items, next } = await this.#runs.listRuns({ updatedAfter: since, limit: MOST });
    let count = 0;
    for (const run of items) {
      const key = JSON.stringify([run.tenantId, run.runId]);
      const known = this.#sequences.get(key);
      count += known === undefined ? await this.#newEvents(run, since) : Math.max(0, run.lastEventSeq - known);
      this.#sequences.set(key, run.lastEventSeq);
      // Uses the time of the store's clock, which may differ from the clock of this machine.
      if (run.updatedAt > this.#since) this.#since = run.updatedAt;
    }
    return { count, exact: next === undefined };
  }

  async #newEvents({ runId, tenantId, createdAt, lastEventSeq }: RunSummary, since: string): Promise<number> {
    if (createdAt >= since) return lastEventSeq;
    const latest = await this.#runs.fetchEvents(runId, { tenantId, order: 'newest', limit: MOST });
    return latest.filter(({ persistedAt }) => persistedAt > since).length;
  }
}

/**
 * One actor archives a run, restores it and appends to it, again and again, while the other reads and refreshes its
 * snapshot. A restored run must stay, with every acknowledged event.
 */
import type { RunPart, Store } from '@tidemark/core';
import { runEvent } from '../run-event.ts';
import { ignoring, until } from './actors.ts';
import type { Race } from './race.ts';

const MOVES = 6;

export const RESTORED_RUNS: Race = {
  summary: "' archive, restore and append during snapshot reads",
  rounds: { short: 6, long: 100 },
  async round({ a, b, id }) {
    const run = new MovedRun(a.forTenant('default'), `${id}-run`);
    await run.append('first');
    const done = new AbortController();
    const reading = readSnapshots(b.forTenant('default'), run.runId, done.signal);
    try {
      for (let move = 1; move <= MOVES && run.problem === null; move++) await run.move(move);
    } finally {
      done.abort();
      await reading;
    }
    const problems = run.problem === null ? await run.missing() : [run.problem];
    return { checks: run.moves, problems };
  },
};

/** A run that moves to an archive and back, and its acknowledged events. */
class MovedRun {
  readonly runId: string;
  readonly #store: Store;
  readonly #acknowledged: string[] = [];
  moves = 0;
  problem: string | null = null;

  constructor(store: Store, runId: string) {
    this.#store = store;
    this.runId = runId;
  }

  async append(key: string): Promise<void> {
    await this.#store.runs.appendEvent(runEvent(this.runId, key));
    this.#acknowledged.push(key);
  }

  /** Archives and restores the run and appends to it. */
  async move(move: number): Promise<void> {
    try {
      const parts = await this.#archive();
      await this.#store.runs.restoreRun(parts);
      this.moves++;
      await this.append(`move ${move}`);
    } catch (error) {
      this.problem = `move ${move}: ${(error as Error).message}`;
    }
  }

  async #archive(): Promise<RunPart[]> {
    const parts = await Array.fromAsync(this.#store.runs.exportRun(this.runId));
    const options = { location: 'somewhere', expectedSeq: parts[0]!.run.lastEventSeq };
    if (await this.#store.runs.archiveRun(this.runId, options)) return parts;
    throw new Error('the run was removed by another');
  }

  /** Returns a sentence for each acknowledged event that cannot be read. */
  async missing(): Promise<string[]> {
    try {
      const log = await this.#store.runs.fetchEvents(this.runId);
      const keys = new Set(log.map((event) => event.idempotencyKey));
      return this.#acknowledged.filter((key) => !keys.has(key)).map((key) => `acknowledged event ${key} is lost`);
    } catch (error) {
      return [(error as Error).message];
    }
  }
}

function readSnapshots(store: Store, runId: string, signal: AbortSignal): Promise<unknown> {
  const missing = ignoring('RUN_ARCHIVED', 'RUN_NOT_FOUND');
  const refresh = until(signal, () => store.runs.refreshSnapshot(runId).catch(missing));
  const get = until(signal, () => store.runs.getSnapshot(runId).catch(missing));
  return Promise.all([refresh, get]);
}

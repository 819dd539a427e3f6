/**
 * Runs with events that wait to be folded. If a run waits too long, a second worker marks its snapshot `STALE` and
 * folds it up to the last event, because the worker that reads the feed may hang.
 */
import { isTidemarkError, type Store } from '@tidemark/core';

/** A run with events that are not folded yet. */
export interface WaitingRun {
  tenantId: string;
  runId: string;
  /** When the oldest unfolded event was stored, in epoch milliseconds. */
  since: number;
}

export interface LateRunsOptions {
  store: Store;
  /** How long a run may wait. */
  resyncMs: number;
  /** Called after each resync of a snapshot with the number of folded events. */
  onResync: (folded: number) => void;
  onError: (error: unknown) => void;
}

const AT_ONCE = 4;

export class LateRuns {
  readonly #options: LateRunsOptions;
  readonly #waiting = new Set<WaitingRun>();
  readonly #resynced = new WeakSet<WaitingRun>();
  /** Runs that were marked but not folded yet. They are folded even if the worker that reads the feed is faster. */
  readonly #marked = new Set<WaitingRun>();
  #pass: Promise<unknown> | null = null;

  constructor(options: LateRunsOptions) {
    this.#options = options;
  }

  add(run: WaitingRun): void {
    this.#waiting.add(run);
  }

  remove(run: WaitingRun): void {
    this.#waiting.delete(run);
  }

  /** When the oldest waiting event was stored; `null` if no event is waiting. */
  get oldest(): number | null {
    let oldest: number | null = null;
    for (const { since } of this.#waiting) oldest = Math.min(oldest ?? since, since);
    return oldest;
  }

  /** Resyncs each run that waits too long, once. Returns at once while an earlier call is running. */
  async resync(): Promise<void> {
    if (this.#pass) return;
    const limit = Date.now() - this.#options.resyncMs;
    const late = [...this.#waiting].filter((run) => run.since < limit && !this.#resynced.has(run));
    const queue = [...new Set([...this.#marked, ...late])];
    if (queue.length === 0) return;
    const work = async () => {
      for (let run = queue.shift(); run; run = queue.shift())
        if (this.#marked.has(run) || this.#waiting.has(run)) await this.#resync(run).catch(this.#options.onError);
    };
    this.#pass = Promise.all(Array.from({ length: AT_ONCE }, work));
    await this.#pass;
    this.#pass = null;
  }

  /** Resolves when no resync is running. */
  async settled(): Promise<void> {
    await this.#pass;
  }

  async #resync(run: WaitingRun): Promise<void> {
    const { tenantId, runId } = run;
    const { runs } = this.#options.store;
    try {
      // Added first, so that the run is refreshed even if the reply to `markStale` is lost.
      this.#marked.add(run);
      await runs.markStale(runId, { tenantId });
      const { folded } = await runs.refreshSnapshot(runId, { tenantId });
      this.#options.onResync(folded);
    } catch (error) {
      if (!isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'RUN_DELETED', 'CORRUPT_EVENT')) throw error;
    }
    this.#marked.delete(run);
    this.#resynced.add(run);
  }
}

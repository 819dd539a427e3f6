/**
 * For each run that the feed skipped, the next sequence that the shard needs. These sequences are stored in the same
 * write as the shard's cursor, so that after a release the remaining events are handled exactly once.
 */
import type { FeedItem, HeldRun } from '@tidemark/core';

type Run = { tenantId: string; runId: string };

export class HeldRuns {
  readonly #next: Map<string, number>;

  constructor(next: Iterable<readonly [string, number]> = []) {
    this.#next = new Map(next);
  }

  /** Parses what `text` returned. A shard that never skipped a run has no text. */
  static parse(text: string | null): HeldRuns {
    return new HeldRuns(text === null || text === '' ? [] : (JSON.parse(text) as [string, number][]));
  }

  get text(): string {
    return this.#next.size === 0 ? '' : JSON.stringify([...this.#next]);
  }

  copy(): HeldRuns {
    return new HeldRuns(this.#next);
  }

  /** Records that the feed skipped a run. Keeps the first skipped sequence until the run returns. */
  hold(run: HeldRun): void {
    const key = keyOf(run);
    if (!this.#next.has(key)) this.#next.set(key, run.runSeq);
  }

  /**
   * Returns whether to handle an item. Returns false if the item was handled earlier, or if the feed will deliver it
   * later.
   */
  take({ event, released }: FeedItem): boolean {
    const key = keyOf(event);
    const next = this.#next.get(key);
    if (released) {
      // If this shard never skipped the run, the feed itself delivers the events.
      if (next === undefined || event.runSeq < next) return false;
      this.#next.set(key, event.runSeq + 1);
      return true;
    }
    if (next === undefined) return true;
    // A restored run starts again at 1.
    const isHandled = event.runSeq < next && event.runSeq > 1;
    if (!isHandled) this.#next.delete(key);
    return !isHandled;
  }
}

function keyOf({ tenantId, runId }: Run): string {
  return `${tenantId}\0${runId}`;
}

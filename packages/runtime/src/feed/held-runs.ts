/**
 * The next sequence that a shard needs of each run that the feed skipped. Stored with the shard's cursor in one write,
 * so that after a release events are handled from there on: none skipped, none twice.
 */
import type { FeedItem, HeldRun } from '@tidemark/core';

type Run = { tenantId: string; runId: string };

export class HeldRuns {
  readonly #next: Map<string, number>;

  constructor(next: Iterable<readonly [string, number]> = []) {
    this.#next = new Map(next);
  }

  /** Parses the text of `text`; a shard that never skipped a run has none. */
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

  /** Returns whether to handle an item: false if it was handled before, or if the feed will deliver it. */
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

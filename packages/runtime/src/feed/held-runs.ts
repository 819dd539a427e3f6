/**
 * Which sequence of a run a shard wants next, of the runs that the feed passed over. It is kept beside the shard's cursor and
 * written with it, so that after a release the events are handled from there on: none skipped, none twice.
 */
import type { FeedItem, HeldRun } from '@tidemark/core';

type Run = { tenantId: string; runId: string };

export class HeldRuns {
  readonly #next: Map<string, number>;

  constructor(next: Iterable<readonly [string, number]> = []) {
    this.#next = new Map(next);
  }

  /** Reads what `text` wrote; nothing for a shard that never passed over a run. */
  static parse(text: string | null): HeldRuns {
    return new HeldRuns(text === null || text === '' ? [] : (JSON.parse(text) as [string, number][]));
  }

  get text(): string {
    return this.#next.size === 0 ? '' : JSON.stringify([...this.#next]);
  }

  copy(): HeldRuns {
    return new HeldRuns(this.#next);
  }

  /** Notes that the feed passed over a run. The first sequence it passed over stays until the run comes again. */
  hold(run: HeldRun): void {
    const key = keyOf(run);
    if (!this.#next.has(key)) this.#next.set(key, run.runSeq);
  }

  /** Takes the next item of the feed; false for one that was handled before, or will come with the feed itself. */
  take({ event, released }: FeedItem): boolean {
    const key = keyOf(event);
    const next = this.#next.get(key);
    if (released) {
      // Of a run that this shard never passed over, the feed itself gives the events.
      if (next === undefined || event.runSeq < next) return false;
      this.#next.set(key, event.runSeq + 1);
      return true;
    }
    if (next === undefined) return true;
    // A run that was restored begins again.
    const isHandled = event.runSeq < next && event.runSeq > 1;
    if (!isHandled) this.#next.delete(key);
    return !isHandled;
  }
}

function keyOf({ tenantId, runId }: Run): string {
  return `${tenantId}\0${runId}`;
}

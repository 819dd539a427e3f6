/** A bounded queue of changes for one watcher. A watcher that falls too far behind fails with `OVERLOADED`. */
import { TidemarkError } from '../contracts/errors.ts';
import type { RecordChange } from '../engine/records.ts';

const MAX_QUEUED = 10_000;

export class ChangeQueue {
  readonly #signal: AbortSignal;
  #queued: RecordChange[] = [];
  #overflowed = false;
  #wake: () => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  push(change: RecordChange): void {
    if (this.#queued.length === MAX_QUEUED) this.#overflowed = true;
    else this.#queued.push(change);
    this.#wake();
  }

  /** Yields changes as they arrive, until the signal aborts. */
  async *changes(): AsyncGenerator<RecordChange, void, undefined> {
    while (!this.#signal.aborted) {
      const changes = this.#queued;
      this.#queued = [];
      for (const change of changes) {
        if (this.#signal.aborted) return;
        yield change;
      }
      if (this.#overflowed) {
        throw new TidemarkError(
          'OVERLOADED',
          `The watcher is more than ${MAX_QUEUED} changes behind; scan the prefix and watch again`,
        );
      }
      // The consumer may have aborted while it handled the last change. Waiting now would block for ever.
      if (this.#queued.length === 0 && !this.#signal.aborted) await this.#next();
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      this.#wake = done;
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }
}

/** Bounds promises by a deadline and a signal. One timer serves all pending calls: a timer a call costs more than an append. */

import type { TidemarkError } from './contracts/errors.ts';
import type { EngineCall } from './engine/runs.ts';

type GaveUp = 'was aborted' | 'ran out of time';

interface Pending {
  deadline: number;
  giveUp: (why: GaveUp) => void;
}

const TICK_MS = 20;

export class DeadlineWatch {
  readonly #pending = new Set<Pending>();
  #timer: NodeJS.Timeout | undefined;

  /** The promise's own outcome, or `failure` once the call's deadline passes or its signal aborts. */
  race<T>(promise: Promise<T>, call: EngineCall, failure: (why: GaveUp) => TidemarkError): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pending: Pending = {
        deadline: call.deadline ?? Number.POSITIVE_INFINITY,
        giveUp: (why) => {
          done();
          reject(failure(why));
        },
      };
      const onAbort = () => pending.giveUp('was aborted');
      const done = () => {
        this.#pending.delete(pending);
        if (this.#pending.size === 0) this.#timer?.unref();
        call.signal?.removeEventListener('abort', onAbort);
      };
      this.#pending.add(pending);
      call.signal?.addEventListener('abort', onAbort, { once: true });
      if (this.#timer) this.#timer.ref();
      else this.#timer = setInterval(() => this.#tick(), TICK_MS);
      promise.then(
        (value) => {
          done();
          resolve(value);
        },
        (error) => {
          done();
          reject(error);
        },
      );
    });
  }

  #tick(): void {
    const now = Date.now();
    for (const pending of this.#pending) {
      if (pending.deadline <= now) pending.giveUp('ran out of time');
    }
    if (this.#pending.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

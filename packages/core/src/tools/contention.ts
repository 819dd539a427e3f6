/**
 * How keyed engines handle concurrent writers. Writers in this process queue; writers in other processes are handled by
 * reading again and retrying. Both are bounded (GEN-3): past the bound the call fails with `OVERLOADED`.
 */

import { TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from './context.ts';
import { sleep } from './sleep.ts';

const MAX_TRIES = 100;
/** The number of retries without delay. Most races are with a single other writer. */
const EAGER_TRIES = 4;
const MAX_PAUSE_MS = 20;
const MAX_WAITING = 10_000;

/** Returned by an attempt when another writer came first and nothing was written. */
export const CONFLICT = Symbol('conflict');

/** Retries attempts that lose a race with writers in other processes. */
export class Contention {
  readonly #random: StoreContext['random'];

  constructor(context: Pick<StoreContext, 'random'>) {
    this.#random = context.random;
  }

  /** Repeats an attempt, which must read afresh each time, until it does not return `CONFLICT`. */
  async settle<T>(call: EngineCall, attempt: () => Promise<T | typeof CONFLICT>): Promise<T> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const outcome = await attempt();
      if (outcome !== CONFLICT) return outcome;
      refuseIfOver(call);
      if (tries > EAGER_TRIES) await sleep((this.#random(1)[0]! / 255) * Math.min(tries, MAX_PAUSE_MS));
    }
    throw overloaded('Too many writers change the same thing at once');
  }
}

/** Runs tasks of the same key one after the other within this process. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();
  #waiting = 0;

  async run<T>(key: string, call: EngineCall, task: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw overloaded('Too many writes are waiting');
    const before = this.#last.get(key);
    const turn = this.#run(before, call, task);
    const quiet = turn.catch(() => {});
    this.#last.set(key, quiet);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === quiet) this.#last.delete(key);
    }
  }

  async #run<T>(before: Promise<unknown> | undefined, call: EngineCall, task: () => Promise<T>): Promise<T> {
    if (before !== undefined) {
      this.#waiting++;
      await before;
      this.#waiting--;
      refuseIfOver(call);
    }
    return task();
  }
}

/** Throws when the caller no longer waits, because a write that starts now would follow the report of its failure. */
export function refuseIfOver(call: EngineCall): void {
  const isOver = call.signal?.aborted || (call.deadline !== undefined && call.deadline <= Date.now());
  if (isOver) throw overloaded('The time limit passed while the write waited for others');
}

export function overloaded(what: string): TidemarkError {
  return new TidemarkError('OVERLOADED', `${what}; nothing was written, try again in a moment`);
}

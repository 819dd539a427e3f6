/**
 * Bounds calls by their deadline and signal, and reports the outcome of abandoned calls (GEN-3, GEN-8). One timer
 * serves all pending calls: a timer per call costs more than an append.
 */

import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import { carriedWrite, type WriteCall, withWrite } from './writes.ts';

type GaveUp = 'was aborted' | 'ran out of time';

const TICK_MS = 20;

/** A call whose caller is waiting. Linked with the others, because they come and go with every call. */
class Pending<T> {
  before: Pending<never> | null = null;
  after: Pending<never> | null = null;
  readonly call: EngineCall;
  /** `null` for a read. */
  readonly write: WriteCall | null;
  readonly #watch: DeadlineWatch;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort: (() => void) | undefined;

  constructor(
    watch: DeadlineWatch,
    call: EngineCall,
    write: WriteCall | null,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.#watch = watch;
    this.call = call;
    this.write = write;
    this.#resolve = resolve;
    this.#reject = reject;
    if (!call.signal) return;
    this.#onAbort = () => this.giveUp('was aborted');
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  succeed(value: T): void {
    this.#end();
    this.#resolve(value);
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(this.write === null || hasWrite(error) ? error : withWrite(error, this.write));
  }

  giveUp(why: GaveUp): void {
    this.#end();
    this.#reject(gaveUp(this.call, this.write, why));
  }

  #end(): void {
    this.#watch.forget(this as unknown as Pending<never>);
    if (this.#onAbort) this.call.signal!.removeEventListener('abort', this.#onAbort);
  }
}

/**
 * The pending calls are a linked list. A `Set` would keep ended calls, with their arguments and results, until the next
 * full garbage collection: whenever it makes room, its former table still refers to them, and to the next table.
 */
export class DeadlineWatch {
  #last: Pending<never> | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** Settles like the promise, or rejects once the call's deadline passes or its signal aborts. */
  race<T>(promise: Promise<T>, call: EngineCall, write: WriteCall | null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pending = new Pending(this, call, write, resolve, reject);
      // Only pending calls keep the process alive.
      if (this.#last === null) this.#timer?.ref();
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
      this.#remember(pending as unknown as Pending<never>);
      promise.then(
        (value) => pending.succeed(value),
        (error) => pending.fail(error),
      );
    });
  }

  #remember(pending: Pending<never>): void {
    pending.before = this.#last;
    if (this.#last) this.#last.after = pending;
    this.#last = pending;
  }

  forget(pending: Pending<never>): void {
    const { before, after } = pending;
    if (before) before.after = after;
    if (after) after.before = before;
    else if (this.#last === pending) this.#last = before;
    // So that a call which was kept for long does not keep those after it.
    pending.before = null;
    pending.after = null;
    if (this.#last === null) this.#timer?.unref();
  }

  #tick(): void {
    const now = Date.now();
    for (let pending = this.#last; pending; ) {
      const { before } = pending;
      if ((pending.call.deadline ?? Number.POSITIVE_INFINITY) <= now) pending.giveUp('ran out of time');
      pending = before;
    }
    if (this.#last !== null) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function gaveUp(call: EngineCall, write: WriteCall | null, why: GaveUp): TidemarkError {
  const unwritten = write === null || call.phase === 'waiting';
  if (call.phase === 'waiting') call.phase = 'given up';
  if (!unwritten) {
    return new TidemarkError(
      'OUTCOME_UNKNOWN',
      `The write ${why} while it was under way; retry the same write to find out its outcome`,
      { write: carriedWrite(write) },
    );
  }
  return why === 'was aborted'
    ? new TidemarkError('ABORTED', 'The call was aborted; nothing was written', { cause: call.signal?.reason })
    : new TidemarkError(
        'TIMEOUT',
        'The call took longer than its time limit and wrote nothing; try again or raise timeoutMs',
      );
}

/**
 * Errors of nested calls already carry their write. Errors of an engine that lost a reply do not, because the engine
 * does not know the call.
 */
function hasWrite(error: unknown): boolean {
  return isTidemarkError(error) && error.write !== undefined;
}

/** Returns a function that returns whether half of the call's time has passed. */
export function halfTime({ deadline }: EngineCall): () => boolean {
  const start = Date.now();
  return () => deadline !== undefined && Date.now() - start > (deadline - start) / 2;
}

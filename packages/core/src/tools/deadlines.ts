/**
 * Bounds calls by their deadline and signal, and reports the outcome of abandoned calls (GEN-3, GEN-8). One timer
 * serves all pending calls: a timer per call costs more than an append.
 */

import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import { carriedWrite, type WriteCall, withWrite } from './writes.ts';

type GaveUp = 'was aborted' | 'ran out of time';

const TICK_MS = 20;

/** A call whose caller is waiting. */
class Pending<T, Answer> {
  readonly call: EngineCall;
  /** `null` for a read. */
  readonly write: WriteCall | null;
  previous: AnyPending | null = null;
  next: AnyPending | null = null;
  readonly #watch: DeadlineWatch;
  readonly #decode: ((value: T) => Answer | Promise<Answer>) | undefined;
  readonly #resolve: (answer: Answer | Promise<Answer>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort: (() => void) | undefined;
  #isOver = false;

  constructor(
    watch: DeadlineWatch,
    call: EngineCall,
    write: WriteCall | null,
    decode: ((value: T) => Answer | Promise<Answer>) | undefined,
    resolve: (answer: Answer | Promise<Answer>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#watch = watch;
    this.call = call;
    this.write = write;
    this.#decode = decode;
    this.#resolve = resolve;
    this.#reject = reject;
    if (!call.signal) return;
    this.#onAbort = () => this.giveUp('was aborted');
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  succeed(value: T): void {
    if (!this.#end()) return;
    try {
      // Without `decode` both types are the same.
      this.#resolve(this.#decode ? this.#decode(value) : (value as unknown as Answer));
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(error: unknown): void {
    if (this.#end()) this.#reject(this.write === null || hasWrite(error) ? error : withWrite(error, this.write));
  }

  giveUp(why: GaveUp): void {
    if (this.#end()) this.#reject(gaveUp(this.call, this.write, why));
  }

  /** Returns false if the caller no longer waits. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#watch.forget(this as unknown as AnyPending);
    if (this.#onAbort) this.call.signal!.removeEventListener('abort', this.#onAbort);
    return true;
  }
}

type AnyPending = Pending<never, never>;

/**
 * The pending calls are a linked list. A `Set` would compute a hash for each, and would keep ended calls, with their
 * arguments and results, until the next full garbage collection: its former table still refers to them.
 */
export class DeadlineWatch {
  #first: AnyPending | null = null;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Settles like the promise, or rejects once the call's deadline passes or its signal aborts. `decode` makes the answer
   * of the call from the result of the engine; that costs less than another promise.
   */
  race<T, Answer = T>(
    promise: Promise<T>,
    call: EngineCall,
    write: WriteCall | null,
    decode?: (value: T) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const pending = new Pending(this, call, write, decode, resolve, reject);
      // Only pending calls keep the process alive.
      if (this.#first === null) this.#timer?.ref();
      this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
      this.#remember(pending as unknown as AnyPending);
      promise.then(
        (value) => pending.succeed(value),
        (error) => pending.fail(error),
      );
    });
  }

  #remember(pending: AnyPending): void {
    pending.next = this.#first;
    if (this.#first) this.#first.previous = pending;
    this.#first = pending;
  }

  forget(pending: AnyPending): void {
    const { previous, next } = pending;
    // A call that is kept for long must not keep those after it.
    pending.previous = null;
    pending.next = null;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    if (this.#first === null) this.#timer?.unref();
  }

  #tick(): void {
    const now = Date.now();
    for (let pending = this.#first; pending; ) {
      const { next } = pending;
      if ((pending.call.deadline ?? Number.POSITIVE_INFINITY) <= now) pending.giveUp('ran out of time');
      pending = next;
    }
    if (this.#first !== null) return;
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

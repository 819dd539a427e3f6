/**
 * Batches calls that are made at the same time, or while others are in progress, because one script with one reply
 * costs less than a script per call. A single call is sent at once.
 */
import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { overloaded, translate } from './errors.ts';
import { Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';

/** The maximum number of calls that may wait. Further calls fail with `OVERLOADED` (GEN-3). */
const MAX_WAITING = 10_000;
const MAX_BYTES = 256 * 1024;

/** Decodes the result of a call from its reply. */
export type Decode<T> = (reply: Reply) => T | Promise<T>;

interface Waiting {
  keys: Encoded;
  args: Encoded;
  call: EngineCall;
  decode: Decode<unknown>;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

/** Sends a batch of calls. Resolves to one reply per call, in order. */
export type Send = (keys: Encoded, args: Encoded, call: EngineCall) => Promise<Reply>;

export class CallBatcher {
  readonly #send: Send;
  /** The maximum number of calls in a batch. */
  readonly #most: number;
  #waiting: Waiting[] = [];
  #isUnderWay = false;
  /** When the next batch is sent: after this turn, or after two turns. */
  #scheduled: 'no' | 'soon' | 'later' = 'no';

  constructor(most: number, send: Send) {
    this.#send = send;
    this.#most = most;
  }

  /**
   * Adds a call to the next batch. With `waits`, the batch may wait for two turns of the event loop, so that a script
   * which follows it, and calls `sendWaiting` before, is sent in the same write.
   */
  join<T>(keys: Encoded, args: Encoded, call: EngineCall, decode: Decode<T>, waits = false): Promise<T> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.reject(overloaded());
    return new Promise<T>((resolve, reject) => {
      call.phase ??= 'waiting';
      this.#waiting.push({ keys, args, call, decode, resolve: resolve as Waiting['resolve'], reject });
      this.#schedule(waits);
    });
  }

  /**
   * Sends after the current turn, so that callers woken in this turn can join. Calls that are made while a batch is in
   * progress form the next batch: batches are largest when they are sent one at a time.
   */
  #schedule(waits = false): void {
    if (this.#waiting.length === 0 || this.#isUnderWay) return;
    if (this.#scheduled === 'soon' || (waits && this.#scheduled === 'later')) return;
    this.#scheduled = waits ? 'later' : 'soon';
    const send = () => {
      this.#scheduled = 'no';
      this.sendWaiting();
    };
    if (waits) setImmediate(() => setImmediate(send));
    else process.nextTick(send);
  }

  /** Whether calls wait for the next batch. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Sends the next batch now, unless one is under way. */
  sendWaiting(): void {
    while (this.#waiting.length > 0 && !this.#isUnderWay) this.#sendNext();
  }

  #sendNext(): void {
    const group = this.#takeGroup();
    if (group.length === 0) return;
    let [keys, args, deadline] = [group[0]!.keys, group[0]!.args, 0];
    if (group.length > 1) {
      [keys, args] = [new Encoded(), new Encoded()];
      for (const waiting of group) {
        keys.append(waiting.keys);
        args.append(waiting.args);
        deadline = Math.max(deadline, waiting.call.deadline ?? Number.POSITIVE_INFINITY);
      }
    }
    // The batch uses the latest deadline of its calls, so that a caller with a short deadline cannot end the other
    // calls.
    void this.#sendAll(group, keys, args, group.length === 1 ? group[0]!.call : { deadline });
  }

  #takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    const now = Date.now();
    let [taken, bytes] = [0, 0];
    while (taken < this.#waiting.length && group.length < this.#most && bytes < MAX_BYTES) {
      const waiting = this.#waiting[taken++]!;
      if (isOver(waiting.call, now)) {
        waiting.reject(ranOut());
        continue;
      }
      waiting.call.phase = 'begun';
      bytes += waiting.args.bytes;
      group.push(waiting);
    }
    this.#waiting = taken === this.#waiting.length ? [] : this.#waiting.slice(taken);
    return group;
  }

  async #sendAll(group: readonly Waiting[], keys: Encoded, args: Encoded, call: EngineCall): Promise<void> {
    this.#isUnderWay = true;
    try {
      const replies = (await this.#send(keys, args, call)) as Reply[];
      for (let at = 0; at < group.length; at++) {
        const reply = replies[at];
        if (reply instanceof Error) group[at]!.reject(translate(reply, 'write'));
        else answer(group[at]!, reply);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      this.#isUnderWay = false;
      this.#schedule();
    }
  }
}

function answer({ decode, resolve, reject }: Waiting, reply: Reply): void {
  try {
    resolve(decode(reply));
  } catch (error) {
    reject(error);
  }
}

/** Whether the caller has given up, in which case the call must not be sent. */
export function isOver({ deadline, signal, phase }: EngineCall, now = Date.now()): boolean {
  return phase === 'given up' || signal?.aborted === true || (deadline !== undefined && deadline <= now);
}

export function ranOut(): TidemarkError {
  return new TidemarkError('TIMEOUT', 'The call ran out of time before it was sent; nothing was written, try again');
}

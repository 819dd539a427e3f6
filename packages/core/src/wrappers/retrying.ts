/**
 * `withRetries`: makes a call again while that can help and cannot harm (GEN-8). What was not written may be sent again
 * always; what may have been written only when the call carries a key that settles it.
 */

import { checkDuration } from '../checks/numbers.ts';
import { factsOf } from '../contracts/calls.ts';
import type { Duration } from '../contracts/common.ts';
import { isTidemarkError, type TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import { sleep } from '../tools/sleep.ts';
import { isSettled, withholdsFirst } from '../tools/writes.ts';
import { InterceptedStore, type Interceptor, type StoreCall } from './intercept.ts';

export interface RetryOptions {
  /** No repetition begins later than this after the call. Default 30 s. */
  deadline?: Duration;
  /** The pause before the first repetition; each further one may be twice as long. Default 25 ms. */
  firstDelay?: Duration;
  /** The longest pause. Default 1 s. */
  maxDelay?: Duration;
}

/**
 * A store that repeats what failed for the moment. An error that stays has `attempts`.
 *
 * @example
 * const store = withRetries(await open(url), { deadline: '10s' });
 */
export function withRetries(store: Store, options: RetryOptions = {}): Store {
  return new InterceptedStore(store, new Repeater(options));
}

class Repeater implements Interceptor {
  readonly #deadlineMs: number;
  readonly #firstDelayMs: number;
  readonly #maxDelayMs: number;

  constructor({ deadline = 30_000, firstDelay = 25, maxDelay = 1_000 }: RetryOptions) {
    this.#deadlineMs = checkDuration(deadline, 'deadline');
    this.#firstDelayMs = checkDuration(firstDelay, 'firstDelay');
    this.#maxDelayMs = checkDuration(maxDelay, 'maxDelay');
  }

  async call(call: StoreCall, proceed: () => Promise<unknown>): Promise<unknown> {
    const deadline = Date.now() + this.#deadlineMs;
    const signal = signalOf(call);
    let unsettled: TidemarkError | undefined;
    for (let attempts = 1; ; attempts++) {
      try {
        return await proceed();
      } catch (error) {
        if (isTidemarkError(error, 'OUTCOME_UNKNOWN')) unsettled = error;
        const delay = this.#delayAfter(attempts);
        if (!mayRepeat(call, error) || signal?.aborted || Date.now() + delay >= deadline) {
          const outcome = unsettled && !settles(error, unsettled) ? unsettled : error;
          throw attempts > 1 && isTidemarkError(outcome) ? Object.assign(outcome, { attempts }) : outcome;
        }
        await sleep(delay, signal);
      }
    }
  }

  /** Between half and all of a pause that doubles: callers that failed together do not come back together. */
  #delayAfter(attempts: number): number {
    const most = Math.min(this.#maxDelayMs, this.#firstDelayMs * 2 ** Math.min(attempts - 1, 30));
    return Math.max(1, Math.round(most * (0.5 + Math.random() / 2)));
  }
}

/**
 * Whether the last attempt settles an earlier one whose outcome was unknown. An attempt that did not reach the engine settles
 * nothing, and the refusal of one run of a batch does not settle the other runs.
 */
function settles(error: unknown, unsettled: TidemarkError): boolean {
  if (!isTidemarkError(error) || error.retryable || isTidemarkError(error, 'ABORTED', 'STORE_CLOSED')) return false;
  return unsettled.runId === undefined;
}

function mayRepeat(call: StoreCall, error: unknown): boolean {
  if (!isTidemarkError(error) || !error.retryable || takesStream(call)) return false;
  return error.outcome === 'rejected' || returnsTheSame(call);
}

/** A stream can be read once only. */
function takesStream(call: StoreCall): boolean {
  const facts = factsOf(call);
  return facts.kind === 'write' && facts.withholds !== 'token' && withholdsFirst(facts, call.args);
}

/** Whether the call, made again, returns what it would have returned the first time. */
function returnsTheSame(call: StoreCall): boolean {
  const facts = factsOf(call);
  // What became of the caller's transaction only the caller can find out.
  if (facts.kind !== 'write' || Object(call.args[facts.options]).transaction !== undefined) return false;
  return facts.settledBy !== 'state' && isSettled(facts, call.args);
}

function signalOf(call: StoreCall): AbortSignal | undefined {
  const { options } = factsOf(call);
  const { signal } = Object(options === undefined ? undefined : call.args[options]);
  return signal instanceof AbortSignal ? signal : undefined;
}

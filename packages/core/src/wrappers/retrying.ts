/**
 * `withRetries`: retries calls when a retry is safe and can succeed (GEN-8). A call that wrote nothing is always safe
 * to retry. A call that may have written is retried only with a key that keeps it from taking effect twice.
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
  /** How long after the start of the call a retry may begin. Default 30 s. */
  deadline?: Duration;
  /** The longest delay before the first retry. It doubles with each further retry. Default 25 ms. */
  firstDelay?: Duration;
  /** The longest delay between two attempts. Default 1 s. */
  maxDelay?: Duration;
}

/**
 * Wraps a store and retries calls that fail with a retryable error, with exponential backoff and jitter. A write of
 * unknown outcome is retried only if it has a key that keeps it from taking effect twice. Iterators and calls that take
 * a stream are never retried. When the retries fail too, the error has `attempts`.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option.
 *
 * @example
 * const store = withRetries(await open('sqlite:app.db'), { deadline: '10s' });
 * await store.runs.handle('order-42').append('RunStarted');
 */
export function withRetries(store: Store, options: RetryOptions = {}): Store {
  return new InterceptedStore(store, new Retrier(options));
}

class Retrier implements Interceptor {
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
        if (!mayRetry(call, error) || signal?.aborted || Date.now() + delay >= deadline) {
          const outcome = unsettled && !settles(error, unsettled) ? unsettled : error;
          throw attempts > 1 && isTidemarkError(outcome) ? Object.assign(outcome, { attempts }) : outcome;
        }
        await sleep(delay, signal);
      }
    }
  }

  /**
   * Returns a random delay between half of a doubling delay and all of it, so that callers that failed together do not
   * retry together.
   */
  #delayAfter(attempts: number): number {
    const most = Math.min(this.#maxDelayMs, this.#firstDelayMs * 2 ** Math.min(attempts - 1, 30));
    return Math.max(1, Math.round(most * (0.5 + Math.random() / 2)));
  }
}

/**
 * Whether the error of the last attempt settles an earlier attempt of unknown outcome. An attempt that did not reach
 * the engine settles nothing, and the rejection of one run of a batch does not settle the other runs.
 */
function settles(error: unknown, unsettled: TidemarkError): boolean {
  if (!isTidemarkError(error) || error.retryable || isTidemarkError(error, 'ABORTED', 'STORE_CLOSED')) return false;
  return unsettled.runId === undefined;
}

function mayRetry(call: StoreCall, error: unknown): boolean {
  if (!isTidemarkError(error) || !error.retryable || takesStream(call)) return false;
  return error.outcome === 'rejected' || returnsTheSame(call);
}

/** Whether the call takes a stream, which can be read only once. */
function takesStream(call: StoreCall): boolean {
  const facts = factsOf(call);
  return facts.kind === 'write' && facts.withholds !== 'token' && withholdsFirst(facts, call.args);
}

/** Whether a retry of the call returns the result that the first attempt would have returned. */
function returnsTheSame(call: StoreCall): boolean {
  const facts = factsOf(call);
  // Only the caller can find out the outcome of its transaction.
  if (facts.kind !== 'write' || Object(call.args[facts.options]).transaction !== undefined) return false;
  return facts.settledBy !== 'state' && isSettled(facts, call.args);
}

function signalOf(call: StoreCall): AbortSignal | undefined {
  const { options } = factsOf(call);
  const { signal } = Object(options === undefined ? undefined : call.args[options]);
  return signal instanceof AbortSignal ? signal : undefined;
}

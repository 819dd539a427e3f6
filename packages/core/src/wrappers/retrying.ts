/**
 * `retrying`: makes a call again while that can help and cannot harm (GEN-8). What was not written may be sent again
 * always; what may have been written only when the call carries a key that settles it.
 */
import { checkDuration } from '../checks/numbers.ts';
import type { Duration } from '../contracts/common.ts';
import { isTidemarkError, type TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
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
 * const store = retrying(await open(url), { deadline: '10s' });
 */
export function retrying(store: Store, options: RetryOptions = {}): Store {
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
        await pause(delay, signal);
      }
    }
  }

  /** Between half and all of a pause that doubles: callers that failed together do not come back together. */
  #delayAfter(attempts: number): number {
    const most = Math.min(this.#maxDelayMs, this.#firstDelayMs * 2 ** Math.min(attempts - 1, 30));
    return Math.max(1, Math.round(most * (0.5 + Math.random() / 2)));
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
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
  return error.outcome === 'rejected' || isSettledByItself(call);
}

/** A stream can be read once only. */
function takesStream({ domain, method, args }: StoreCall): boolean {
  if (domain === 'runs' && method === 'restoreRun') return !Array.isArray(args[0]);
  return domain === 'artifacts' && method === 'putStream';
}

/** Writes that say the same however often they are sent: events by their keys, updates and steering by their ids, … */
const BY_THEIR_OWN_KEY = new Set([
  ...['runs.appendEvent', 'runs.appendEvents', 'runs.refreshSnapshot', 'runs.markStale', 'runs.forkRun'],
  ...['runs.restoreRun', 'runs.redactEvent', 'admin.eraseTenant', 'admin.eraseSession'],
  ...['agents.saveEvent', 'agents.saveEvents', 'agents.savePlannerEvent', 'agents.saveUpdate', 'agents.saveSteering'],
  ...['agents.saveRemoteBinding', 'agents.saveTask', 'agents.saveTrajectory'],
  ...['jobs.enqueue', 'jobs.heartbeat', 'jobs.progress', 'jobs.complete', 'jobs.fail', 'jobs.cancel', 'jobs.announced'],
  ...['artifacts.putBytes', 'artifacts.putText'],
]);

/** Where a call may carry a request id of the caller's, and by which name. */
const BY_REQUEST: Partial<Record<string, { at: number; name: string }>> = {
  'kv.put': { at: 2, name: 'requestId' },
  'kv.delete': { at: 1, name: 'requestId' },
  'kv.touch': { at: 2, name: 'requestId' },
  'kv.setField': { at: 3, name: 'requestId' },
  'kv.setFields': { at: 2, name: 'requestId' },
  'kv.compareAndSwap': { at: 4, name: 'requestId' },
  'kv.swap': { at: 1, name: 'requestId' },
  'agents.loadPlannerState': { at: 1, name: 'requestId' },
  'agents.claimPlannerState': { at: 1, name: 'requestId' },
  'agents.saveMemoryState': { at: 2, name: 'requestId' },
  'agents.deleteMemoryState': { at: 1, name: 'requestId' },
  'jobs.claim': { at: 1, name: 'claimId' },
  'jobs.requeue': { at: 1, name: 'requestId' },
  'jobs.recover': { at: 1, name: 'requestId' },
};

/** Whether the call carries what settles a write whose outcome is unknown. */
function isSettledByItself({ domain, method, args }: StoreCall): boolean {
  // What became of the caller's transaction only the caller can find out.
  if (domain === 'runs' && Object(args[1]).transaction !== undefined) return false;
  const request = BY_REQUEST[`${domain}.${method}`];
  if (request) return Object(args[request.at])[request.name] !== undefined;
  return BY_THEIR_OWN_KEY.has(`${domain}.${method}`);
}

/** Options come last. */
function signalOf({ args }: StoreCall): AbortSignal | undefined {
  const { signal } = Object(args.at(-1));
  return signal instanceof AbortSignal ? signal : undefined;
}

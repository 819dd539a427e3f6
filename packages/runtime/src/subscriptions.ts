/**
 * Named durable subscriptions: a handler receives every event of the feed at least once, and the events of each run in
 * order. This holds across restarts and in any number of processes. An event whose handler keeps failing becomes a dead
 * letter and does not block other events.
 */
import {
  type Duration,
  type FeedOptions,
  type RunEventRecord,
  type RunNotice,
  type Store,
  TidemarkError,
} from '@tidemark/core';
import { checkDuration, checkInteger, sleep } from '@tidemark/core/engine';
import { subscriptionPrefix } from './checks.ts';
import { type DeadLetter, type DeadLetterKey, DeadLetters } from './dead-letters.ts';
import { type FeedPoint, ShardedFeed, type ShardItem } from './feed/sharded-feed.ts';

/** Passed to a handler with each event. */
export interface Delivery {
  /** The number of the attempt within this process, starting at 1. */
  attempt: number;
  /** Aborts when the subscription stops or another process takes over the shard. */
  signal: AbortSignal;
}

/** Options of `subscribe`. */
export interface SubscriptionOptions {
  /** A name of 1 to 100 characters from `A–Z a–z 0–9 _ -`. Processes with the same name share the work. */
  name: string;
  /** Handles an event. It may receive an event more than once: make its effect idempotent by `eventId`. */
  handler: (event: RunEventRecord, delivery: Delivery) => Promise<void> | void;
  /**
   * Handles a notice, in order with the events of its run and possibly more than once. Without `onNotice`, the
   * subscription receives no notices. If the handler fails, the notice is retried until it succeeds, and later events
   * of its shard wait.
   */
  onNotice?: (notice: RunNotice, delivery: Delivery) => Promise<void> | void;
  filter?: FeedOptions['filter'];
  /** A feed cursor to start after when the name is first used. Default: start with the first event. */
  startAfter?: string;
  /** Number of shards, which limits how many events are handled concurrently. Fixed at first use. Default 8. */
  shards?: number;
  /** How long a process may be unresponsive before others take over its shards. Default 15 s. */
  lease?: Duration;
  retry?: {
    /** Attempts before an event becomes a dead letter. Default 5. */
    attempts?: number;
    /** Delay after the first failure, doubled with each further one. Default 200 ms, at most 10 s. */
    backoff?: Duration;
  };
  /** Called with errors of the handler and of the store. */
  onError?: (error: unknown, event?: RunEventRecord) => void;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: FeedPoint | 'dead letter') => void;
}

/** Status of a subscription in this process. */
export interface SubscriptionStatus {
  shards: number[];
  handled: number;
  retried: number;
  dead: number;
  /**
   * Milliseconds between storing and handling the event that was handled last in this process; `null` before the first
   * event.
   */
  lagMs: number | null;
}

/** A running subscription. `subscribe` returns one. */
export interface Subscription extends AsyncDisposable {
  status(): SubscriptionStatus;
  /** Finishes the events in progress and releases the shards. */
  stop(): Promise<void>;
}

const MAX_BACKOFF_MS = 10_000;

/**
 * Starts handling events under a name. Every event is delivered at least once; the events of a run arrive in order.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, or if the name was started with another number of shards.
 *
 * @example
 * const billing = await subscribe(store, {
 *   name: 'billing',
 *   filter: { eventTypes: ['RunCompleted'] },
 *   handler: async (event) => console.log('invoice', event.runId),
 * });
 * await billing.stop();
 */
export async function subscribe(store: Store, options: SubscriptionOptions): Promise<Subscription> {
  const subscription = new RunningSubscription(store, options);
  await subscription.start();
  return subscription;
}

class RunningSubscription implements Subscription {
  readonly #options: SubscriptionOptions;
  readonly #attempts: number;
  readonly #backoffMs: number;
  readonly #feed: ShardedFeed;
  readonly #deadLetters: DeadLetters;
  readonly #counts = { handled: 0, retried: 0, dead: 0 };
  #lagMs: number | null = null;

  constructor(store: Store, options: SubscriptionOptions) {
    const prefix = subscriptionPrefix(options.name);
    this.#options = options;
    this.#attempts = checkInteger(options.retry?.attempts ?? 5, 'retry.attempts', 1);
    this.#backoffMs = checkDuration(options.retry?.backoff ?? 200, 'retry.backoff');
    this.#deadLetters = new DeadLetters(store, prefix);
    this.#feed = new ShardedFeed({
      store,
      prefix,
      shards: checkInteger(options.shards ?? 8, 'shards', 1),
      leaseMs: checkDuration(options.lease ?? '15s', 'lease'),
      filter: options.filter,
      notices: options.onNotice !== undefined,
      startAfter: options.startAfter,
      handle: (items, { signal }) => this.#handle(items, signal),
      onError: (error) => options.onError?.(error),
      probe: options.probe,
    });
  }

  start(): Promise<void> {
    return this.#feed.start();
  }

  status(): SubscriptionStatus {
    return { shards: this.#feed.shards, ...this.#counts, lagMs: this.#lagMs };
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #handle(items: readonly ShardItem[], signal: AbortSignal): Promise<number> {
    for (const [at, item] of items.entries()) {
      if ('notice' in item) {
        if (!(await this.#notify(item.notice, signal))) return at;
        continue;
      }
      const { event } = item;
      const isDone =
        !signal.aborted && (await this.#deliver(event, signal).catch((error) => this.#leave(error, event)));
      if (!isDone) return at;
      this.#lagMs = Math.max(0, Date.now() - Date.parse(event.persistedAt));
    }
    return items.length;
  }

  /** Retries until the notice is handled. Returns false if the subscription was stopped first. */
  async #notify(notice: RunNotice, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#options.onNotice?.(notice, { attempt, signal });
        this.#counts.handled++;
        return true;
      } catch (error) {
        this.#options.onError?.(error);
        this.#counts.retried++;
        await this.#backOff(attempt, signal);
      }
    }
    return false;
  }

  #backOff(attempt: number, signal: AbortSignal): Promise<void> {
    return sleep(Math.min(this.#backoffMs * 2 ** (attempt - 1), MAX_BACKOFF_MS), signal);
  }

  /**
   * Retries until the event is handled or becomes a dead letter. Returns false if the subscription was stopped first.
   */
  async #deliver(event: RunEventRecord, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#options.handler(event, { attempt, signal });
        this.#counts.handled++;
        return true;
      } catch (error) {
        if (signal.aborted) return false;
        this.#options.onError?.(error, event);
        if (attempt >= this.#attempts) return this.#bury(event, attempt, error);
        this.#counts.retried++;
        await this.#backOff(attempt, signal);
        if (signal.aborted) return false;
      }
    }
  }

  /** Reports that the dead letter could not be written. The event is delivered again. */
  #leave(error: unknown, event: RunEventRecord): false {
    this.#options.onError?.(error, event);
    return false;
  }

  async #bury(event: RunEventRecord, attempts: number, error: unknown): Promise<boolean> {
    await this.#deadLetters.add(event, attempts, error);
    this.#counts.dead++;
    this.#options.probe?.('dead letter');
    return true;
  }
}

/**
 * Lists the events that a subscription gave up on, in no particular order.
 *
 * @throws `INVALID_ARGUMENT` for an invalid name.
 *
 * @example
 * for await (const letter of listDeadLetters(store, 'mailer'))
 *   await redeliver(store, 'mailer', letter, (event) => console.log(event.eventId));
 */
export function listDeadLetters(store: Store, name: string): AsyncIterable<DeadLetter> {
  return new DeadLetters(store, subscriptionPrefix(name)).list();
}

/**
 * Passes a dead letter to a handler and removes it if the handler succeeds. Later events of the run have already been
 * handled, so the handler must not rely on their order.
 *
 * @throws `RUN_NOT_FOUND` if the event is gone, and the error of the handler.
 */
export async function redeliver(
  store: Store,
  name: string,
  letter: DeadLetterKey,
  handler: SubscriptionOptions['handler'],
): Promise<void> {
  const { tenantId, runId, runSeq } = letter;
  const [event] = await store.runs.fetchEvents(runId, { tenantId, afterSeq: runSeq - 1, limit: 1 });
  if (!event)
    throw new TidemarkError('RUN_NOT_FOUND', `Event ${runSeq} of run ${JSON.stringify(runId)} no longer exists`, {
      runId,
    });
  await handler(event, { attempt: 1, signal: new AbortController().signal });
  await new DeadLetters(store, subscriptionPrefix(name)).remove(letter);
}

/**
 * Discards a dead letter, even if its run is gone. Returns whether it existed.
 *
 * @throws `INVALID_ARGUMENT` for an invalid name.
 *
 * @example
 * const letter = { tenantId: 'default', runId: 'order-42', runSeq: 3 };
 * console.log(await discardDeadLetter(store, 'mailer', letter)); // false
 */
export function discardDeadLetter(store: Store, name: string, letter: DeadLetterKey): Promise<boolean> {
  return new DeadLetters(store, subscriptionPrefix(name)).remove(letter);
}

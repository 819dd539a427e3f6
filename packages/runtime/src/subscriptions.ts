/**
 * Named durable subscriptions: a handler hears every event of the feed at least once, the events of a run in order, in any
 * number of processes, across restarts. An event whose handler keeps failing becomes a dead letter and holds nothing up.
 */
import {
  type Duration,
  type FeedItem,
  type FeedOptions,
  type RunEventRecord,
  type Store,
  TidemarkError,
} from '@tidemark/core';
import { checkDuration, checkInteger, sleep } from '@tidemark/core/engine';
import { checkName } from './checks.ts';
import { type DeadLetter, type DeadLetterKey, DeadLetters } from './dead-letters.ts';
import { type FeedPoint, ShardedFeed } from './feed/sharded-feed.ts';

/** What a handler is told besides the event. */
export interface Delivery {
  /** 1 for the first try of this process. */
  attempt: number;
  /** Aborted when the subscription stops or another process takes the shard over. */
  signal: AbortSignal;
}

export interface SubscriptionOptions {
  /** 1 to 100 of `A–Z a–z 0–9 _ -`; processes that use the same one share the work. */
  name: string;
  /** What to do with an event. It may hear an event more than once: make its effect idempotent by `eventId`. */
  handler: (event: RunEventRecord, delivery: Delivery) => Promise<void> | void;
  filter?: FeedOptions['filter'];
  /** A cursor of the feed to begin after when the name is used for the first time; absent: with the first event. */
  startAfter?: string;
  /** Into how many parts the runs are dealt, the most that can be handled at once. Fixed at first use. Default 8. */
  shards?: number;
  /** How long a process may be silent until others take over. Default 15 s. */
  lease?: Duration;
  retry?: {
    /** Tries until an event becomes a dead letter. Default 5. */
    attempts?: number;
    /** The pause after the first failure, doubled with each. Default 200 ms, at most 10 s. */
    backoff?: Duration;
  };
  /** Hears of failures of the handler and of the store. */
  onError?: (error: unknown, event?: RunEventRecord) => void;
  /** Called at named points, for tests that crash there. */
  probe?: (point: FeedPoint | 'dead letter') => void;
}

/** How a subscription is doing in this process. */
export interface SubscriptionStatus {
  shards: number[];
  handled: number;
  retried: number;
  dead: number;
  /** Milliseconds between the storing of the last event handled here and its handling; `null` before the first. */
  lagMs: number | null;
}

export interface Subscription extends AsyncDisposable {
  status(): SubscriptionStatus;
  /** Finishes the events under way and gives its shards to others. */
  stop(): Promise<void>;
}

const LONGEST_BACKOFF_MS = 10_000;

/**
 * Starts to handle events under a name.
 *
 * @example
 * const billing = await subscribe(store, {
 *   name: 'billing',
 *   filter: { eventTypes: ['RunCompleted'] },
 *   handler: async (event) => invoice(event.runId),
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

  async #handle(items: readonly FeedItem[], signal: AbortSignal): Promise<number> {
    for (const [at, { event }] of items.entries()) {
      const isDone =
        !signal.aborted && (await this.#deliver(event, signal).catch((error) => this.#leave(error, event)));
      if (!isDone) return at;
      this.#lagMs = Math.max(0, Date.now() - Date.parse(event.persistedAt));
    }
    return items.length;
  }

  /** Tries until the event is handled or is a dead letter; false when it was stopped before either. */
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
        await sleep(Math.min(this.#backoffMs * 2 ** (attempt - 1), LONGEST_BACKOFF_MS), signal);
        if (signal.aborted) return false;
      }
    }
  }

  /** Not even a dead letter could be written: the event comes again. */
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

/** Events that a subscription gave up on, in no particular order. */
export function listDeadLetters(store: Store, name: string): AsyncIterable<DeadLetter> {
  return new DeadLetters(store, subscriptionPrefix(name)).list();
}

/**
 * Hands a dead letter to a handler once more and removes it when that succeeds. The events after it were handled long
 * ago: the handler must not rely on order here.
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
    throw new TidemarkError('RUN_NOT_FOUND', `Event ${runSeq} of run ${JSON.stringify(runId)} is gone`, { runId });
  await handler(event, { attempt: 1, signal: new AbortController().signal });
  await new DeadLetters(store, subscriptionPrefix(name)).remove(letter);
}

/** Throws a dead letter away, whether or not its run is still there; false when there was none. */
export function discardDeadLetter(store: Store, name: string, letter: DeadLetterKey): Promise<boolean> {
  return new DeadLetters(store, subscriptionPrefix(name)).remove(letter);
}

function subscriptionPrefix(name: string): string {
  return `tidemark.subscriptions.${checkName(name, 'name')}`;
}

/**
 * Subscriptions that handle pages: a handler receives consecutive events and notices of one shard at once, so that it
 * can store them elsewhere in one step.
 */
import type { Duration, FeedItem, NoticeItem, RunEventRecord, Store } from '@tidemark/core';
import { checkDuration, checkInteger, sleep } from '@tidemark/core/engine';
import { subscriptionPrefix } from './checks.ts';
import { DeadLetters } from './dead-letters.ts';
import { type FeedPoint, ShardedFeed, type ShardTurn } from './feed/sharded-feed.ts';
import type { Subscription } from './subscriptions.ts';

/** Passed to a handler of pages with each page. */
export interface PageDelivery {
  /** The shard of the page. The events of a run are always in the same shard. */
  shard: number;
  /**
   * The number of times that processes have taken the shard. A handler with a lower epoch than another handler has lost
   * the shard, but its writes may still arrive. Write the epoch with the data, and let the higher epoch win.
   */
  epoch: number;
  /** The number of the attempt within this process, starting at 1. */
  attempt: number;
  /** Aborts when the subscription stops or another process takes over the shard. */
  signal: AbortSignal;
  /** Makes an event a dead letter. Treat the event as handled once this has resolved. */
  giveUp: (event: RunEventRecord, error: unknown) => Promise<void>;
}

/** Options of `subscribePages`. */
export interface PageSubscriptionOptions {
  /** A name of 1 to 100 characters from `A–Z a–z 0–9 _ -`. Processes with the same name share the work. */
  name: string;
  /**
   * Handles a page of events and notices. The items of a run are in order. If the handler rejects, the page is retried
   * until it succeeds, and later events of its shard wait.
   */
  onPage: (items: readonly (FeedItem | NoticeItem)[], delivery: PageDelivery) => Promise<void>;
  /** Whether pages also contain notices. Default false. */
  notices?: boolean;
  /** The number of items that are read at once: 1 to 10 000, default 1 000. */
  pageSize?: number;
  /** A feed cursor to start after when the name is first used. Default: start with the first event. */
  startAfter?: string;
  /** Number of shards, which limits how many pages are handled concurrently. Fixed at first use. Default 1. */
  shards?: number;
  /** How long a process may be unresponsive before others take over its shards. Default 15 s. */
  lease?: Duration;
  /** Called with errors of the handler and of the store. */
  onError?: (error: unknown) => void;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: FeedPoint) => void;
}

const MAX_PAGE = 10_000;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 10_000;
/** While the feed is idle, it reports its progress about once a second. */
const SILENCE_MS = 2_000;

/**
 * Starts handling pages of events under a name. Every event is delivered at least once; the events of a run arrive in
 * order. `status().lagMs` is the age of the oldest event that has not been handled, or 0 when all have been.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, or if the name was started with another number of shards.
 *
 * @example
 * const lake = await subscribePages(store, {
 *   name: 'lake',
 *   onPage: async (items) => console.log(`${items.length} items`),
 * });
 * await lake.stop();
 */
export async function subscribePages(store: Store, options: PageSubscriptionOptions): Promise<Subscription> {
  const subscription = new RunningPages(store, options);
  await subscription.start();
  return subscription;
}

class RunningPages implements Subscription {
  readonly #options: PageSubscriptionOptions;
  readonly #feed: ShardedFeed;
  readonly #deadLetters: DeadLetters;
  readonly #counts = { handled: 0, retried: 0, dead: 0 };

  constructor(store: Store, options: PageSubscriptionOptions) {
    const prefix = subscriptionPrefix(options.name);
    this.#options = options;
    this.#deadLetters = new DeadLetters(store, prefix);
    this.#feed = new ShardedFeed({
      store,
      prefix,
      shards: checkInteger(options.shards ?? 1, 'shards', 1),
      leaseMs: checkDuration(options.lease ?? '15s', 'lease'),
      pageSize: checkInteger(options.pageSize ?? 1_000, 'pageSize', 1, MAX_PAGE),
      notices: options.notices === true,
      startAfter: options.startAfter,
      handle: (items, turn) => this.#handle(items, turn),
      onError: (error) => options.onError?.(error),
      probe: options.probe,
    });
  }

  start(): Promise<void> {
    return this.#feed.start();
  }

  status() {
    return { shards: this.#feed.shards, ...this.#counts, lagMs: this.#lagMs() };
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #lagMs(): number | null {
    const { handledUpTo } = this.#feed;
    if (handledUpTo === null) return null;
    const ageMs = Date.now() - handledUpTo;
    return ageMs > SILENCE_MS ? ageMs : 0;
  }

  /** Retries until the page is handled. Handles nothing of it if the subscription was stopped first. */
  async #handle(items: readonly (FeedItem | NoticeItem)[], turn: ShardTurn): Promise<number> {
    const { number: shard, epoch, signal } = turn;
    for (let attempt = 1; !signal.aborted; attempt++) {
      const giveUp = async (event: RunEventRecord, error: unknown) => {
        await this.#deadLetters.add(event, attempt, error);
        this.#counts.dead++;
      };
      try {
        await this.#options.onPage(items, { shard, epoch, attempt, signal, giveUp });
        this.#counts.handled += items.length;
        return items.length;
      } catch (error) {
        if (signal.aborted) break;
        this.#options.onError?.(error);
        this.#counts.retried++;
        await sleep(Math.min(FIRST_BACKOFF_MS * 2 ** (attempt - 1), MAX_BACKOFF_MS), signal);
      }
    }
    return 0;
  }
}

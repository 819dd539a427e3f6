/**
 * All readers of one source. The readers share one wait for new items, and readers at the same cursor share one read.
 * Ten thousand idle readers of a run therefore cost one wait and one read.
 */
import { sleep } from '@tidemark/core/engine';
import type { Fanout } from './fanout.ts';
import type { Reads } from './reads.ts';
import type { StreamPage, StreamSource, Waiter } from './source.ts';

const RETRY_MS = 1_000;

/** The account that pays for a topic's reads, and the queues that the reads pass through. */
export interface TopicContext {
  account: string;
  reads: Reads;
  fanout: Fanout;
}

export class Topic {
  readonly #source: StreamSource;
  readonly #context: TopicContext;
  readonly #waiters = new Set<Waiter>();
  readonly #pages = new Map<string | null, Promise<StreamPage>>();
  readonly #closing = new AbortController();
  #isFollowing = false;
  #isWaking = false;
  #isToWakeAgain = false;

  constructor(source: StreamSource, context: TopicContext) {
    this.#source = source;
    this.#context = context;
  }

  get isIdle(): boolean {
    return this.#waiters.size === 0;
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    if (this.#source.followsAtOnce) this.listen(null);
  }

  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter);
  }

  /** Returns the page after a cursor. Readers share a read in progress until there are new items. */
  page(after: string | null): Promise<StreamPage> {
    const underWay = this.#pages.get(after);
    if (underWay) return underWay;
    const { account, reads } = this.#context;
    const page = reads
      .page(account, () => this.#source.read(after))
      .finally(() => {
        // Readers that have not been woken yet will request the same page.
        if (!this.#isWaking && this.#pages.get(after) === page) this.#pages.delete(after);
      });
    this.#pages.set(after, page);
    return page;
  }

  /** Charges an item that was delivered to one reader. */
  chargeDelivery(): void {
    this.#context.reads.chargeDelivery(this.#context.account);
  }

  /** Starts following from a cursor after which nothing was found. */
  listen(after: string | null): void {
    if (this.#isFollowing || this.#closing.signal.aborted) return;
    this.#isFollowing = true;
    void this.#follow(after);
  }

  async #follow(after: string | null): Promise<void> {
    const { signal } = this.#closing;
    try {
      for await (const _ of this.#source.follow(after, signal)) this.#wake();
    } catch {
      // The readers get the same error from their own reads and report it.
      await sleep(RETRY_MS, signal);
    }
    this.#isFollowing = false;
    this.#wake();
  }

  #wake(): void {
    if (this.#isWaking) {
      this.#isToWakeAgain = true;
      return;
    }
    // An earlier read may have missed the new items.
    this.#pages.clear();
    this.#isWaking = true;
    this.#context.fanout.wake(this.#context.account, [...this.#waiters], () => {
      this.#isWaking = false;
      this.#pages.clear();
      if (!this.#isToWakeAgain) return;
      this.#isToWakeAgain = false;
      this.#wake();
    });
  }

  close(): void {
    this.#closing.abort();
  }
}

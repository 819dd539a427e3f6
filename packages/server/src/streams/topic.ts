/**
 * All readers of one thing. They share one wait for news, and those who stand at the same place share the read: ten
 * thousand idle readers of a run cost one of each.
 */
import { sleep } from '@tidemark/core/engine';
import type { Fanout } from './fanout.ts';
import type { Reads } from './reads.ts';
import type { StreamPage, StreamSource, Waiter } from './source.ts';

const RETRY_MS = 1_000;

/** Who pays for the reads of a topic, and what they go through. */
export interface TopicTurns {
  account: string;
  reads: Reads;
  fanout: Fanout;
}

export class Topic {
  readonly #source: StreamSource;
  readonly #turns: TopicTurns;
  readonly #waiters = new Set<Waiter>();
  readonly #pages = new Map<string | null, Promise<StreamPage>>();
  readonly #closing = new AbortController();
  #isFollowing = false;
  #isWaking = false;
  #isToWakeAgain = false;

  constructor(source: StreamSource, turns: TopicTurns) {
    this.#source = source;
    this.#turns = turns;
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

  /** The page after a cursor. A read under way serves all who ask for it before anything new is heard of. */
  page(after: string | null): Promise<StreamPage> {
    const underWay = this.#pages.get(after);
    if (underWay) return underWay;
    const { account, reads } = this.#turns;
    const page = reads
      .page(account, () => this.#source.read(after))
      .finally(() => {
        // Readers that are still to be woken ask for the same page.
        if (!this.#isWaking && this.#pages.get(after) === page) this.#pages.delete(after);
      });
    this.#pages.set(after, page);
    return page;
  }

  /** Pays for an item that one reader got. */
  chargeDelivery(): void {
    this.#turns.reads.chargeDelivery(this.#turns.account);
  }

  /** Begins to follow, from a place where somebody found nothing more. */
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
      // The readers meet the failure themselves when they read, and tell it.
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
    // A read that began before may have missed what is new.
    this.#pages.clear();
    this.#isWaking = true;
    this.#turns.fanout.wake(this.#turns.account, [...this.#waiters], () => {
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

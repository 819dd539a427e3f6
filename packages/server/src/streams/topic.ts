/**
 * All readers of one thing. They share one wait for news, and those who stand at the same place share the read: ten
 * thousand idle readers of a run cost one of each.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamPage, StreamSource } from './source.ts';

const RETRY_MS = 1_000;

/** Somebody to be told that there may be more to read. */
export interface Waiter {
  wake(): void;
}

export class Topic {
  readonly #source: StreamSource;
  readonly #waiters = new Set<Waiter>();
  readonly #pages = new Map<string | null, Promise<StreamPage>>();
  readonly #closing = new AbortController();
  #isFollowing = false;

  constructor(source: StreamSource) {
    this.#source = source;
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
    const page = this.#source.read(after).finally(() => {
      if (this.#pages.get(after) === page) this.#pages.delete(after);
    });
    this.#pages.set(after, page);
    return page;
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
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
    this.#isFollowing = false;
    this.#wake();
  }

  #wake(): void {
    // A read that began before may have missed what is new.
    this.#pages.clear();
    for (const waiter of this.#waiters) waiter.wake();
  }

  close(): void {
    this.#closing.abort();
  }
}

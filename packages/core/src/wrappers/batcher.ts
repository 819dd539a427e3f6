/**
 * A bounded queue that is written in batches: when a batch is full, after a delay, or on flush. Batches are written one
 * at a time and in order. Items that could not be written stay in the queue and are retried.
 */
import { TidemarkError } from '../contracts/errors.ts';

export interface BatchLimits {
  maxBatch: number;
  maxDelayMs: number;
  maxQueued: number;
}

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;

export class Batcher<T> {
  readonly #limits: BatchLimits;
  readonly #write: (items: readonly T[]) => Promise<void>;
  readonly #queue: T[] = [];
  /** Callers that wait for room, in order of arrival. */
  readonly #waiting: { item: T; accepted: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | null = null;
  #failures = 0;
  /** The number of items that have left the queue. */
  #done = 0;

  /** `write` must fail as a whole; it is then called again with the same items. */
  constructor(limits: BatchLimits, write: (items: readonly T[]) => Promise<void>) {
    this.#limits = limits;
    this.#write = write;
  }

  /** Resolves when the item is in the queue. Rejects with `OVERLOADED` when there is no room within `timeoutMs`. */
  add(item: T, timeoutMs: number): Promise<void> {
    if (this.#queue.length < this.#limits.maxQueued && this.#waiting.length === 0) {
      this.#accept(item);
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#limits.maxQueued) return Promise.reject(this.#overloaded());
    return new Promise((resolve, reject) => {
      const waiter = { item, accepted: () => resolve(clearTimeout(timer)) };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(this.#overloaded());
      }, timeoutMs);
      this.#waiting.push(waiter);
    });
  }

  /** Writes all items accepted before the call. Rejects with the first write error; the items stay in the queue. */
  async flush(): Promise<void> {
    const accepted = this.#done + this.#queue.length;
    while (this.#done < accepted) await this.#start();
  }

  /** Empties the queue, stops the timer and returns the items that were not written. */
  drain(): T[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const left = this.#queue.splice(0);
    this.#done += left.length;
    return left;
  }

  #accept(item: T): void {
    this.#queue.push(item);
    if (this.#queue.length >= this.#limits.maxBatch && this.#failures === 0) this.#startSoon();
    else this.#timer ??= setTimeout(() => this.#startSoon(), this.#limits.maxDelayMs);
  }

  #startSoon(): void {
    // A failed write is retried by the timer. Callers of `flush` get the error.
    this.#start().catch(() => undefined);
  }

  /** Writes one batch, or returns the promise of the batch that is being written. */
  #start(): Promise<void> {
    this.#writing ??= this.#writeOne().finally(() => {
      this.#writing = null;
      this.#scheduleNext();
    });
    return this.#writing;
  }

  async #writeOne(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#queue.slice(0, this.#limits.maxBatch);
    if (batch.length === 0) return;
    try {
      await this.#write(batch);
    } catch (error) {
      this.#failures++;
      throw error;
    }
    this.#failures = 0;
    this.#done += this.#queue.splice(0, batch.length).length;
    while (this.#waiting.length > 0 && this.#queue.length < this.#limits.maxQueued) {
      const { item, accepted } = this.#waiting.shift()!;
      this.#queue.push(item);
      accepted();
    }
  }

  #scheduleNext(): void {
    if (this.#queue.length === 0) return;
    const full = this.#queue.length >= this.#limits.maxBatch;
    const delay = this.#failures > 0 ? this.#retryDelay() : full ? 0 : this.#limits.maxDelayMs;
    this.#timer ??= setTimeout(() => this.#startSoon(), delay);
  }

  #retryDelay(): number {
    return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, 20));
  }

  #overloaded(): TidemarkError {
    return new TidemarkError('OVERLOADED', `${this.#queue.length} items wait to be written; slow down and retry`);
  }
}

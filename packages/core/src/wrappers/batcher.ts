/**
 * A bounded queue that is written in batches: when enough has come, when enough time has passed, or when asked. One
 * batch at a time and in order; what could not be written stays and is tried again.
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
  /** Those who wait for room, in the order they came. */
  readonly #waiting: { item: T; accepted: () => void }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | null = null;
  #failures = 0;
  /** How many items have left the queue. */
  #done = 0;

  /** `write` fails as a whole, and then is called again with the same items. */
  constructor(limits: BatchLimits, write: (items: readonly T[]) => Promise<void>) {
    this.#limits = limits;
    this.#write = write;
  }

  /** Accepts an item, at once or when there is room; `OVERLOADED` when there is none in time. */
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

  /** Writes all that was accepted before the call; fails with what stands in the way, and keeps it. */
  async flush(): Promise<void> {
    const accepted = this.#done + this.#queue.length;
    while (this.#done < accepted) await this.#start();
  }

  /** Lets go of what is left, and of the timer. */
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
    // Whoever asked for a flush hears of a failure; here it only means another try.
    this.#start().catch(() => undefined);
  }

  /** Writes one batch, unless one is under way: then that one is what there is to wait for. */
  #start(): Promise<void> {
    this.#writing ??= this.#writeOne().finally(() => {
      this.#writing = null;
      this.#goOn();
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

  #goOn(): void {
    if (this.#queue.length === 0) return;
    const full = this.#queue.length >= this.#limits.maxBatch;
    const delay = this.#failures > 0 ? this.#retryDelay() : full ? 0 : this.#limits.maxDelayMs;
    this.#timer ??= setTimeout(() => this.#startSoon(), delay);
  }

  #retryDelay(): number {
    return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, 20));
  }

  #overloaded(): TidemarkError {
    return new TidemarkError(
      'OVERLOADED',
      `${this.#queue.length} items wait to be written; slow down and send it again`,
    );
  }
}

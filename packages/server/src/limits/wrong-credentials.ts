/**
 * Counts wrong keys and tokens per address. After several failures, further credentials from the address are refused
 * with 429.
 */
import { LruMap } from '@tidemark/core/engine';
import { Bucket } from './bucket.ts';

const PER_SECOND = 1;
const AT_ONCE = 60;
const MAX_ADDRESSES = 10_000;

export class WrongCredentials {
  readonly #addresses = new LruMap<string, Bucket>(MAX_ADDRESSES);

  isExhausted(address: string): boolean {
    return this.#addresses.peek(address)?.isEmpty === true;
  }

  note(address: string): void {
    const known = this.#addresses.peek(address);
    const bucket = known ?? new Bucket(PER_SECOND, AT_ONCE);
    bucket.take();
    if (known) return;
    if (this.#addresses.size === MAX_ADDRESSES) this.#forgetQuiet();
    this.#addresses.set(address, bucket);
  }

  /** Removes addresses that have had no failures for a minute. If there are none, the map evicts its oldest address. */
  #forgetQuiet(): void {
    for (const [address, bucket] of this.#addresses) if (bucket.isFull) this.#addresses.delete(address);
  }
}

/** How many wrong keys and tokens came from each address: after some of them, more are answered with 429. */
import { LruMap } from '@tidemark/core/engine';
import { Bucket } from './bucket.ts';

const PER_SECOND = 1;
const AT_ONCE = 60;
const MOST_ADDRESSES = 10_000;

export class WrongCredentials {
  readonly #addresses = new LruMap<string, Bucket>(MOST_ADDRESSES);

  isExhausted(address: string): boolean {
    return this.#addresses.peek(address)?.isEmpty === true;
  }

  note(address: string): void {
    const known = this.#addresses.peek(address);
    const bucket = known ?? new Bucket(PER_SECOND, AT_ONCE);
    bucket.take();
    if (known) return;
    if (this.#addresses.size === MOST_ADDRESSES) this.#forgetQuiet();
    this.#addresses.set(address, bucket);
  }

  /** Addresses that were quiet for a minute start anew. Where there are none, the map drops the one that came first. */
  #forgetQuiet(): void {
    for (const [address, bucket] of this.#addresses) if (bucket.isFull) this.#addresses.delete(address);
  }
}

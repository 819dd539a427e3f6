/** How many wrong keys and tokens came from each address: after some of them, more are answered with 429. */
import { Bucket } from './bucket.ts';

const PER_SECOND = 1;
const AT_ONCE = 60;
const MOST_ADDRESSES = 10_000;

export class WrongCredentials {
  readonly #addresses = new Map<string, Bucket>();

  isExhausted(address: string): boolean {
    return this.#addresses.get(address)?.isEmpty === true;
  }

  note(address: string): void {
    const known = this.#addresses.get(address);
    const bucket = known ?? new Bucket(PER_SECOND, AT_ONCE);
    bucket.take();
    if (known) return;
    this.#addresses.set(address, bucket);
    if (this.#addresses.size > MOST_ADDRESSES) this.#forget();
  }

  /** Those who have been quiet for a minute start anew; else the one that came first. */
  #forget(): void {
    for (const [address, bucket] of this.#addresses) if (bucket.isFull) this.#addresses.delete(address);
    if (this.#addresses.size > MOST_ADDRESSES) this.#addresses.delete(this.#addresses.keys().next().value!);
  }
}

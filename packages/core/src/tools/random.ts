/** Randomness for ids. A call for 16 bytes takes as long as one for 4 KiB, so short requests share calls. */

const POOL_BYTES = 4_096;
/** Longer ones are keys and tokens, which leave no copy behind. */
const MOST_POOLED = 16;

let pool = new Uint8Array(0);
let used = 0;

export function randomBytes(length: number): Uint8Array {
  if (length > MOST_POOLED) return globalThis.crypto.getRandomValues(new Uint8Array(length));
  if (used + length > pool.length) {
    pool = globalThis.crypto.getRandomValues(new Uint8Array(POOL_BYTES));
    used = 0;
  }
  used += length;
  return pool.slice(used - length, used);
}

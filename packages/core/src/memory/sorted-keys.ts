/** Keys in byte order, in blocks small enough to keep inserts cheap even with a million keys. */
import { compareKeys } from '../kv/order.ts';

const BLOCK = 512;

export class SortedKeys {
  #blocks: string[][] = [];

  add(key: string): void {
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    if (!block) {
      this.#blocks.push([key]);
      return;
    }
    const index = firstAtOrAfter(block, key);
    if (block[index] === key) return;
    block.splice(index, 0, key);
    if (block.length > 2 * BLOCK) this.#blocks.splice(at + 1, 0, block.splice(BLOCK));
  }

  delete(key: string): void {
    const at = this.#blockOf(key);
    const block = this.#blocks[at];
    const index = block ? firstAtOrAfter(block, key) : -1;
    if (!block || block[index] !== key) return;
    block.splice(index, 1);
    if (block.length === 0) this.#blocks.splice(at, 1);
  }

  /** Yields keys starting at `start`, inclusive. */
  *from(start: string): Generator<string> {
    let at = this.#blockOf(start);
    let index = firstAtOrAfter(this.#blocks[at] ?? [], start);
    for (; at < this.#blocks.length; at++, index = 0) {
      const block = this.#blocks[at]!;
      for (; index < block.length; index++) yield block[index]!;
    }
  }

  /** Yields keys below `end`, or all keys, highest first. */
  *below(end?: string): Generator<string> {
    let at = end === undefined ? this.#blocks.length - 1 : this.#blockOf(end);
    let index = end === undefined ? (this.#blocks[at]?.length ?? 0) : firstAtOrAfter(this.#blocks[at] ?? [], end);
    for (; at >= 0; at--, index = this.#blocks[at]?.length ?? 0) {
      const block = this.#blocks[at] ?? [];
      while (index > 0) yield block[--index]!;
    }
  }

  /** Returns the index of the last block whose first key is not above the key. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.#blocks[middle]![0]!, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function firstAtOrAfter(block: readonly string[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(block[middle]!, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

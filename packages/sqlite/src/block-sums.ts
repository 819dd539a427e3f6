/** Checksums of a file, one per block of 256 KiB: a reader checks each block before it passes any of it on. */
import { sumBytes } from '@tidemark/core/engine';

export const BLOCK_BYTES = 256 * 1024;
const SUM_BYTES = 4;

/** Sums bytes as they are written, in pieces of any length. */
export class BlockSums {
  readonly #sums: number[] = [];
  #sum = 0;
  #filled = 0;

  add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + BLOCK_BYTES - this.#filled);
      this.#sum = sumBytes(part, this.#sum);
      this.#filled += part.length;
      from += part.length;
      if (this.#filled === BLOCK_BYTES) this.#endBlock();
    }
  }

  /** The sums of all blocks, four bytes each. */
  end(): Uint8Array {
    if (this.#filled > 0) this.#endBlock();
    const bytes = Buffer.alloc(this.#sums.length * SUM_BYTES);
    for (const [block, sum] of this.#sums.entries()) bytes.writeInt32LE(sum, block * SUM_BYTES);
    return bytes;
  }

  #endBlock(): void {
    this.#sums.push(this.#sum);
    [this.#sum, this.#filled] = [0, 0];
  }
}

/** Whether a block is the one that was written; one behind the last is not. */
export function matches(sums: Uint8Array, block: number, bytes: Uint8Array): boolean {
  const at = block * SUM_BYTES;
  if (at + SUM_BYTES > sums.length) return false;
  const view = new DataView(sums.buffer, sums.byteOffset, sums.byteLength);
  return view.getInt32(at, true) === sumBytes(bytes, 0);
}

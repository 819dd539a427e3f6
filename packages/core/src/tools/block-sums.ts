/** Checksums of a long value, one per block of 256 KiB. A reader checks each block before returning any of it. */
import { sumBytes } from '../checks/sums.ts';
import { CHUNK_BYTES } from '../engine/artifacts.ts';

export const BLOCK_BYTES = CHUNK_BYTES;
const SUM_BYTES = 4;

/** Computes checksums as bytes are written, in pieces of any length. */
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

  /** Returns the checksums of all blocks, four bytes each. */
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

/** Whether a block matches its checksum. False for a block after the last. */
export function matchesBlock(sums: Uint8Array, block: number, bytes: Uint8Array): boolean {
  const at = block * SUM_BYTES;
  if (at + SUM_BYTES > sums.length) return false;
  const view = new DataView(sums.buffer, sums.byteOffset, sums.byteLength);
  return view.getInt32(at, true) === sumBytes(bytes, 0);
}

/**
 * The values that a process has stored or read last. A blob never changes, and a checkpoint that still exists still has
 * its blobs, so the cache is never out of date.
 */
import { type Frame, LruMap } from '@tidemark/core/adapters';
import type { Blobs } from './blobs.ts';
import { BLOBS, type Branch, branchPrefix } from './keys.ts';
import { type SharedRef, valueId } from './value-refs.ts';

const MAX_BYTES = 16 * 1024 * 1024;
/** A larger value would replace too many others. */
const MAX_VALUE_BYTES = 4 * 1024 * 1024;

export class BlobCache {
  readonly #frames = new LruMap<string, Frame>(MAX_BYTES, ({ bytes }) => bytes.length);

  /** Adds a value under its `valueId`. */
  set(branch: Branch, id: string, frame: Frame): void {
    if (frame.bytes.length <= MAX_VALUE_BYTES) this.#frames.set(keyOf(branch, id), frame);
  }

  delete(branch: Branch, id: string): void {
    this.#frames.delete(keyOf(branch, id));
  }

  get(branch: Branch, id: string): Frame | undefined {
    return this.#frames.get(keyOf(branch, id));
  }

  /** Returns those of the values that are in the cache, by `valueId`. */
  find(branch: Branch, values: Iterable<readonly [name: string, ref: SharedRef]>): Blobs {
    const found = new Map<string, Frame>();
    for (const [, ref] of values) {
      const id = valueId(ref);
      const frame = this.get(branch, id);
      if (frame !== undefined) found.set(id, frame);
    }
    return found;
  }
}

function keyOf(branch: Branch, id: string): string {
  return `${branchPrefix(BLOBS, branch)}${id}`;
}

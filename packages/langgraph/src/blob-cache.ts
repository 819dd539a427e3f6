/**
 * The values of blobs that a process has stored or read last. A blob never changes, and a checkpoint that still exists
 * still has its blobs, so the cache is never out of date.
 */
import { type Frame, LruMap } from '@tidemark/core/adapters';
import { type Blobs, blobId } from './blobs.ts';
import type { BlobRef } from './checkpoint-record.ts';
import { BLOBS, type Branch, branchPrefix } from './keys.ts';

const MAX_BYTES = 16 * 1024 * 1024;
/** A larger value would replace too many others. */
const MAX_VALUE_BYTES = 1024 * 1024;

export class BlobCache {
  readonly #frames = new LruMap<string, Frame>(MAX_BYTES, ({ bytes }) => bytes.length);

  set(branch: Branch, id: string, frame: Frame): void {
    if (frame.bytes.length <= MAX_VALUE_BYTES) this.#frames.set(keyOf(branch, id), frame);
  }

  /** Returns the blobs of the references that are in the cache, by `blobId`. */
  find(branch: Branch, refs: Iterable<BlobRef>): Blobs {
    const found = new Map<string, Frame>();
    for (const ref of refs) {
      const id = blobId(ref);
      const frame = this.#frames.get(keyOf(branch, id));
      if (frame !== undefined) found.set(id, frame);
    }
    return found;
  }
}

function keyOf(branch: Branch, id: string): string {
  return `${branchPrefix(BLOBS, branch)}${id}`;
}

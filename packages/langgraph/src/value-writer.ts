/** Stores the channel values of one checkpoint: small ones in its record, others in blobs that later checkpoints share. */
import type { KvStore } from '@tidemark/core';
import type { Frame } from '@tidemark/core/adapters';
import type { BlobCache } from './blob-cache.ts';
import { type BlobRecord, encodeBlob, randomName, readBlobs } from './blobs.ts';
import type { Encoding } from './encoding.ts';
import type { Branch } from './keys.ts';
import { partsOfNext } from './sharing.ts';
import { joinPieces } from './stored-values.ts';
import { blobsOf, isPieced, type Piece, type SharedRef, type ValueRef, valueId } from './value-refs.ts';

/** Larger channel values become blobs. */
const INLINE_BYTES = 1024;

export class ValueWriter {
  /** The small values. */
  readonly frames: Frame[] = [];
  /** Blobs to store in the record of the checkpoint. The names differ each time, so V8 needs no hidden class for each. */
  readonly fields = Object.create(null) as Record<string, Uint8Array>;
  /** Blobs to store before the checkpoint. */
  readonly records: BlobRecord[] = [];
  /** Whether a value needs blobs of earlier checkpoints. */
  isShared = false;
  readonly #kv: KvStore;
  readonly #branch: Branch;
  readonly #checkpointId: string;
  readonly #encoding: Encoding;
  readonly #cache: BlobCache;

  constructor(kv: KvStore, branch: Branch, checkpointId: string, encoding: Encoding, cache: BlobCache) {
    this.#kv = kv;
    this.#branch = branch;
    this.#checkpointId = checkpointId;
    this.#encoding = encoding;
    this.#cache = cache;
  }

  /** Adds a value that an earlier checkpoint has stored. */
  keep(before: SharedRef): SharedRef {
    this.isShared = true;
    return before;
  }

  /** Adds a value and returns where it is stored. `before` is where the checkpoint's parent has the value of the channel. */
  async add(channel: string, frame: Frame, before: ValueRef | undefined): Promise<ValueRef> {
    if (frame.bytes.length <= INLINE_BYTES) return this.frames.push(frame) - 1;
    const ref = (await this.#share(channel, frame, before)) ?? this.#addBlob(channel, frame);
    // The next version will be compared with this one.
    if (before !== undefined && typeof before !== 'number') this.#cache.delete(this.#branch, valueId(before));
    this.#cache.set(this.#branch, valueId(ref), frame);
    return ref;
  }

  /** Stores the parts of a value that its earlier version does not have. Returns `null` if the versions have little in common. */
  async #share(channel: string, { type, bytes }: Frame, before: ValueRef | undefined): Promise<SharedRef | null> {
    if (before === undefined || typeof before === 'number') return null;
    const old = await this.#bytesOf(before);
    const parts = old && partsOfNext(before, old, bytes);
    if (!parts) return null;
    const fresh = parts.filter(({ piece }) => piece === null);
    const blob =
      fresh.length > 0
        ? this.#addBlob(channel, {
            type,
            bytes: Buffer.concat(fresh.map(({ at, length }) => bytes.subarray(at, at + length))),
          })
        : null;
    let from = 0;
    const pieces = parts.map(({ piece, length }): Piece => {
      if (piece !== null) return piece;
      from += length;
      return { blob: blob!, from: from - length, length };
    });
    this.isShared = true;
    return { id: randomName(), type, pieces };
  }

  #addBlob(channel: string, frame: Frame) {
    const blob = encodeBlob(this.#branch, this.#checkpointId, `c ${channel}`, frame, this.#encoding);
    this.records.push(...blob.records);
    Object.assign(this.fields, blob.fields);
    return blob.ref;
  }

  /** Returns a stored value, or `undefined` if it is missing because its checkpoint is being deleted. */
  async #bytesOf(ref: SharedRef): Promise<Uint8Array | undefined> {
    const id = valueId(ref);
    const known = this.#cache.get(this.#branch, id);
    if (known !== undefined) return known.bytes;
    const blobs = await readBlobs(this.#kv, this.#branch, blobsOf(ref));
    return (isPieced(ref) ? joinPieces(ref, blobs) : blobs.get(id))?.bytes;
  }
}

/** Reads the values of a stored checkpoint and of its pending writes. */
import { type KvStore, TidemarkError } from '@tidemark/core';
import type { Frame } from '@tidemark/core/adapters';
import { type Blobs, readBlobs } from './blobs.ts';
import type { StoredCheckpoint } from './history.ts';
import { type BlobRef, blobId, blobsOf, isPieced, type PiecedValue, type SharedRef, valueId } from './value-refs.ts';

/** The values of a checkpoint, or the name of one that is missing. */
export interface ValuesRead {
  /** The values that are outside the record, by `valueId`. */
  values: Blobs;
  /** The blobs that contain them, as far as they were read, by `blobId`. */
  blobs: Blobs;
  missing: string | null;
}

/** Yields the values of a checkpoint that are outside its record, with the names of their channels. */
export function* sharedRefsOf({ record, writes }: StoredCheckpoint): Iterable<[name: string, ref: SharedRef]> {
  for (const [name, { value }] of record.channels) if (typeof value !== 'number') yield [name, value];
  for (const { channel, blob } of writes) if (blob !== null) yield [channel, blob];
}

/** Yields the blobs that a checkpoint and its pending writes need. */
export function* blobRefsOf(stored: StoredCheckpoint): Iterable<BlobRef> {
  for (const [, ref] of sharedRefsOf(stored)) yield* blobsOf(ref);
}

/** Reads the values of a checkpoint, except those that are known: values by `valueId`, or blobs by `blobId`. */
export async function readValues(kv: KvStore, stored: StoredCheckpoint, known: Blobs): Promise<ValuesRead> {
  const { record, fields } = stored;
  const values = new Map<string, Frame>();
  const blobs = new Map<string, Frame>();
  const open: [name: string, id: string, ref: SharedRef][] = [];
  const unread: BlobRef[] = [];
  for (const [name, ref] of sharedRefsOf(stored)) {
    const id = valueId(ref);
    const value = known.get(id);
    if (value !== undefined) {
      values.set(id, value);
      continue;
    }
    open.push([name, id, ref]);
    for (const blob of blobsOf(ref)) {
      const frame = known.get(blobId(blob));
      if (frame === undefined) unread.push(blob);
      else blobs.set(blobId(blob), frame);
    }
  }
  if (unread.length > 0) {
    const own = (id: string) => (id === record.id ? fields : undefined);
    for (const [id, frame] of await readBlobs(kv, record.branch, unread, own)) blobs.set(id, frame);
  }
  for (const [name, id, ref] of open) {
    const value = isPieced(ref) ? joinPieces(ref, blobs) : blobs.get(id);
    if (value === undefined) return { values, blobs, missing: name };
    values.set(id, value);
  }
  return { values, blobs, missing: null };
}

/** Joins the pieces of a value. Returns `undefined` if a blob is missing. */
export function joinPieces({ type, pieces }: PiecedValue, blobs: Blobs): Frame | undefined {
  const parts: Uint8Array[] = [];
  for (const { blob, from, length } of pieces) {
    const frame = blobs.get(blobId(blob));
    if (frame === undefined) return undefined;
    if (from + length > frame.bytes.length) {
      const rule = `the blob ${JSON.stringify(blobId(blob))} is too short`;
      throw new TidemarkError('CORRUPT_VALUE', `A stored value is damaged: ${rule}`, { rule });
    }
    parts.push(frame.bytes.subarray(from, from + length));
  }
  return { type, bytes: Buffer.concat(parts) };
}

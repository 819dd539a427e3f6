/**
 * Large values, each in one or more records. A blob never changes after a checkpoint that refers to it has been stored.
 */
import { type KvStore, TidemarkError } from '@tidemark/core';
import { cutIntoFields, type Frame, joinFields, packFrames, unpackFrames } from '@tidemark/core/adapters';
import type { BlobRef } from './checkpoint-record.ts';
import type { Encoding } from './encoding.ts';
import type { StoredCheckpoint } from './history.ts';
import { type Branch, blobKey } from './keys.ts';

/** The size of a part, which is below the limits of every engine and of HTTP requests. */
const PART_BYTES = 4 * 1024 * 1024;
/** The maximum number of parts that one `getMany` reads. */
const KEYS_PER_READ = 4;
const FIELD = 'v';
/** When the blob was stored, in milliseconds. */
export const STORED_AT_FIELD = 'at';

/** The values of blobs by `blobId`. */
export type Blobs = ReadonlyMap<string, Frame>;

/** The record of a part of a blob. */
export interface BlobPart {
  key: string;
  fields: Record<string, Uint8Array | number>;
}

/** Returns the records of a blob and the reference to it. */
export function encodeBlob(
  branch: Branch,
  checkpointId: string,
  name: string,
  value: Frame,
  options: Encoding,
): { ref: BlobRef; parts: BlobPart[] } {
  const packed = packFrames([value], options);
  const count = Math.max(1, Math.ceil(packed.length / PART_BYTES));
  const parts: BlobPart[] = [];
  for (let at = 0; at < count; at++) {
    const bytes = packed.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
    const fields = { [STORED_AT_FIELD]: Date.now(), ...cutIntoFields(FIELD, bytes, options.fieldBytes) };
    parts.push({ key: partKey(branch, checkpointId, name, at), fields });
  }
  return { ref: [checkpointId, name, count], parts };
}

/** Reads blobs. The result has no entry for a missing blob. */
export async function readBlobs(kv: KvStore, branch: Branch, refs: Iterable<BlobRef>): Promise<Blobs> {
  const blobs = new Map([...refs].map((ref) => [blobId(ref), ref] as const));
  const keys = [...blobs.values()].flatMap((ref) => partKeys(branch, ref));
  const bytes = new Map<string, Uint8Array>();
  const reads: Promise<void>[] = [];
  const perRead = keys.length > blobs.size ? KEYS_PER_READ : 100;
  for (let at = 0; at < keys.length; at += perRead) {
    const some = keys.slice(at, at + perRead);
    reads.push(
      kv.getMany(some).then((records) => {
        for (const [index, record] of records.entries()) {
          const part = record && joinFields(FIELD, record.fields);
          if (part) bytes.set(some[index]!, part);
        }
      }),
    );
  }
  await Promise.all(reads);
  const found = new Map<string, Frame>();
  for (const [id, ref] of blobs) {
    const parts = partKeys(branch, ref).map((key) => bytes.get(key));
    if (parts.every((part) => part !== undefined)) {
      found.set(id, unpackFrames(parts.length === 1 ? parts[0]! : Buffer.concat(parts))[0]!);
    }
  }
  return found;
}

/** Yields the references to blobs of a checkpoint and its pending writes. */
export function* blobRefsOf({ record, writes }: StoredCheckpoint): Iterable<BlobRef> {
  for (const { value } of record.channels.values()) if (typeof value !== 'number') yield value;
  for (const { blob } of writes) if (blob !== null) yield blob;
}

/** Returns a string that is unique to each blob of a namespace. */
export function blobId(ref: BlobRef): string {
  return JSON.stringify(ref);
}

export function partKeys(branch: Branch, [checkpointId, name, parts]: BlobRef): string[] {
  return Array.from({ length: parts }, (_, at) => partKey(branch, checkpointId, name, at));
}

export function missingBlob(branch: Branch, checkpointId: string, name: string): TidemarkError {
  const rule = `the value of ${JSON.stringify(name)} is missing`;
  const message = `Checkpoint ${JSON.stringify(checkpointId)} of thread ${JSON.stringify(branch.thread)} is damaged: ${rule}`;
  return new TidemarkError('CORRUPT_VALUE', message, { rule });
}

function partKey(branch: Branch, checkpointId: string, name: string, at: number): string {
  const key = blobKey(branch, checkpointId, name);
  return at === 0 ? key : `${key}.${at}`;
}

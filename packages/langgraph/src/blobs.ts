/**
 * Blobs: values, or parts of values, that checkpoints share. A small blob is a field of the record of the checkpoint
 * that wrote it; a large one has separate records. A blob never changes. Its name is random, so storing another
 * checkpoint with the same id does not overwrite the blobs of the first.
 */
import { type KvStore, TidemarkError } from '@tidemark/core';
import { cutIntoFields, type Frame, joinFields, keySegment, packFrames, unpackFrames } from '@tidemark/core/adapters';
import type { Encoding } from './encoding.ts';
import { BLOBS, type Branch, branchPrefix, checkpointKey, checkpointSegment } from './keys.ts';
import { type BlobRef, blobId } from './value-refs.ts';

/** Larger blobs have separate records, so that reading checkpoints remains cheap. */
const FIELD_BYTES = 8 * 1024;
/** The size of a part, which is below the limits of every engine and of HTTP requests. */
const PART_BYTES = 4 * 1024 * 1024;
/** The maximum number of parts that one `getMany` reads. */
const KEYS_PER_READ = 4;
/** The field of a large blob. */
const FIELD = 'v';
/** The beginning of the names of fields of checkpoints that are small blobs. */
const SMALL = 'p.';
/** When the large blob was stored, in milliseconds. */
export const STORED_AT_FIELD = 'at';

/** Blobs and values by `blobId` and `valueId`. */
export type Blobs = ReadonlyMap<string, Frame>;

/** The fields of a stored record. */
export type RecordFields = Readonly<Record<string, Uint8Array>>;

/** A record of a large blob. */
export interface BlobRecord {
  key: string;
  fields: Record<string, Uint8Array | number>;
}

/** A new blob: fields to add to its checkpoint's record, or separate records. */
export interface EncodedBlob {
  ref: BlobRef;
  fields: Record<string, Uint8Array>;
  records: BlobRecord[];
}

/** Returns a name that no other blob or value of a checkpoint has: 48 random bits. */
export function randomName(): string {
  return crypto.randomUUID().slice(-12);
}

/** Returns the stored form of a blob of a checkpoint. `label` becomes part of the keys of a large blob. */
export function encodeBlob(
  branch: Branch,
  checkpointId: string,
  label: string,
  value: Frame,
  options: Encoding,
): EncodedBlob {
  const packed = packFrames([value], options);
  const unique = randomName();
  if (packed.length > FIELD_BYTES)
    return encodeLarge(branch, [checkpointId, `${label} ${unique}`], value, packed, options);
  const name = `${SMALL}${unique}`;
  const fields = cutIntoFields(name, packed, options.fieldBytes);
  return { ref: [checkpointId, name, 0, value.bytes.length], fields, records: [] };
}

/**
 * Like `encodeBlob`, for values whose checkpoint may not exist yet: the blob has separate records, whatever its size.
 */
export function encodeLargeBlob(
  branch: Branch,
  checkpointId: string,
  label: string,
  value: Frame,
  options: Encoding,
): EncodedBlob {
  const name = `${label} ${randomName()}`;
  return encodeLarge(branch, [checkpointId, name], value, packFrames([value], options), options);
}

function encodeLarge(
  branch: Branch,
  [checkpointId, name]: readonly [string, string],
  value: Frame,
  packed: Buffer,
  options: Encoding,
): EncodedBlob {
  const ref: BlobRef = [checkpointId, name, Math.ceil(packed.length / PART_BYTES), value.bytes.length];
  const records = recordKeys(branch, ref).map((key, at) => {
    const bytes = packed.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
    return { key, fields: { [STORED_AT_FIELD]: Date.now(), ...cutIntoFields(FIELD, bytes, options.fieldBytes) } };
  });
  return { ref, fields: {}, records };
}

/** Reads blobs. The result has no entry for a missing blob. `fields` returns the fields of checkpoints that were read before. */
export async function readBlobs(
  kv: KvStore,
  branch: Branch,
  refs: Iterable<BlobRef>,
  fieldsOf: (checkpointId: string) => RecordFields | undefined = () => undefined,
): Promise<Blobs> {
  const blobs = new Map([...refs].map((ref) => [blobId(ref), ref] as const));
  const records = new Map<string, RecordFields>();
  const keys = new Set<string>();
  for (const ref of blobs.values()) {
    const known = ref[2] === 0 ? fieldsOf(ref[0]) : undefined;
    if (known) records.set(checkpointKey(branch, ref[0]), known);
    else for (const key of keysOf(branch, ref)) keys.add(key);
  }
  for (const [key, fields] of await readFields(kv, [...keys], keys.size > blobs.size ? KEYS_PER_READ : 100))
    records.set(key, fields);
  const found = new Map<string, Frame>();
  for (const [id, ref] of blobs) {
    const frame = frameIn(records, branch, ref);
    if (frame !== null) found.set(id, frame);
  }
  return found;
}

async function readFields(kv: KvStore, keys: readonly string[], perRead: number): Promise<[string, RecordFields][]> {
  const reads: Promise<[string, RecordFields][]>[] = [];
  for (let at = 0; at < keys.length; at += perRead) {
    const some = keys.slice(at, at + perRead);
    reads.push(
      kv
        .getMany(some)
        .then((found) =>
          found.flatMap((record, index): [string, RecordFields][] => (record ? [[some[index]!, record.fields]] : [])),
        ),
    );
  }
  return (await Promise.all(reads)).flat();
}

function frameIn(records: ReadonlyMap<string, RecordFields>, branch: Branch, ref: BlobRef): Frame | null {
  const field = ref[2] === 0 ? ref[1] : FIELD;
  const parts: Uint8Array[] = [];
  for (const key of keysOf(branch, ref)) {
    const fields = records.get(key);
    const part = fields && joinFields(field, fields);
    if (!part) return null;
    parts.push(part);
  }
  return unpackFrames(parts.length === 1 ? parts[0]! : Buffer.concat(parts))[0]!;
}

/** Returns the keys of the records that contain a blob. */
export function keysOf(branch: Branch, ref: BlobRef): string[] {
  return ref[2] === 0 ? [checkpointKey(branch, ref[0])] : recordKeys(branch, ref);
}

function recordKeys(branch: Branch, ref: BlobRef): string[] {
  return recordKeysUnder(branchPrefix(BLOBS, branch), ref);
}

/** Returns the keys of the records of a large blob. They have the prefix of the blobs of their branch. */
export function recordKeysUnder(prefix: string, [checkpointId, name, count]: BlobRef): string[] {
  const key = `${prefix}${checkpointSegment(checkpointId)}.${keySegment(name)}`;
  return Array.from({ length: count }, (_, at) => (at === 0 ? key : `${key}.${at}`));
}

/** Returns the `blobId` of a small blob from its checkpoint and the name of one of its fields. */
export function smallBlobId(checkpointId: string, field: string): string {
  return `${checkpointId} ${SMALL}${field.slice(SMALL.length).split('.', 1)[0]}`;
}

/** Whether a field of a checkpoint's record is a small blob, or a part of one. */
export function isBlobField(name: string): boolean {
  return name.startsWith(SMALL);
}

export function missingBlob(branch: Branch, checkpointId: string, name: string): TidemarkError {
  const rule = `the value of ${JSON.stringify(name)} is missing`;
  const message = `Checkpoint ${JSON.stringify(checkpointId)} of thread ${JSON.stringify(branch.thread)} is damaged: ${rule}`;
  return new TidemarkError('CORRUPT_VALUE', message, { rule });
}

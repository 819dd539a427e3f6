/**
 * Deletes checkpoints and the blobs that no other checkpoint needs, in an order with which a concurrent writer never
 * loses a value:
 *
 * 1. A checkpoint is deleted, but its small blobs remain in its record, which is then no checkpoint any more.
 * 2. The remaining checkpoints are read again, oldest first, for the blobs that they need.
 * 3. All other blobs are deleted.
 *
 * A writer shares blobs with the parent of its checkpoint, and looks for the parent after it has stored the checkpoint.
 * If the parent still exists, step 2 finds the new checkpoint or the parent. Otherwise the writer stores all values again.
 */
import { type KvStore, numberOf } from '@tidemark/core';
import { segmentText } from '@tidemark/core/adapters';
import { isBlobField, keysOf, type RecordFields, recordKeysUnder, STORED_AT_FIELD, smallBlobId } from './blobs.ts';
import { BODY_FIELD, decodeCheckpoint, fieldsWithoutBlobs } from './checkpoint-record.ts';
import { readHistory, readNamespaces, type StoredCheckpoint } from './history.ts';
import {
  BLOBS,
  type Branch,
  branchPrefix,
  CHECKPOINTS,
  checkpointKey,
  checkpointPrefix,
  HEADS,
  partsOf,
  threadPrefix,
  writesPrefix,
} from './keys.ts';
import { decodeWrites } from './pending-writes.ts';
import { blobRefsOf } from './stored-values.ts';
import { type BlobRef, blobId, blobsOf } from './value-refs.ts';

/**
 * A large blob without a checkpoint counts as a leftover only after this time. Until then, its checkpoint may still be
 * stored.
 */
const LEFT_OVER_AFTER_MS = 10 * 60_000;

/** The blobs of a branch that its checkpoints need, and the records that contain only small blobs. */
interface Needs {
  /** By `blobId`. */
  blobs: Map<string, BlobRef>;
  withoutCheckpoint: Map<string, RecordFields>;
}

/**
 * Deletes checkpoints up to `newest`, and the blobs that no other checkpoint needs. Returns the numbers of deleted
 * checkpoints and of deleted records of large blobs.
 */
export async function deleteCheckpoints(
  kv: KvStore,
  branch: Branch,
  isDoomed: (id: string) => boolean,
  newest?: string,
): Promise<{ checkpoints: number; blobs: number }> {
  const candidates = new Set<string>();
  let checkpoints = 0;
  for await (const stored of readHistory(kv, branch)) {
    const { id } = stored.record;
    if ((newest !== undefined && id > newest) || !isDoomed(id)) continue;
    for (const ref of blobRefsOf(stored)) for (const key of keysOf(branch, ref)) candidates.add(key);
    await deleteCheckpoint(kv, stored);
    checkpoints += 1;
  }
  const needs = await needsOf(kv, branch);
  await deleteSmallBlobs(kv, needs);
  return { checkpoints, blobs: await deleteLargeBlobs(kv, branch, needs, candidates) };
}

/**
 * Deletes a thread. A checkpoint that another process stores at the same time is deleted too, or remains with its values.
 */
export async function deleteThread(kv: KvStore, thread: string): Promise<void> {
  for await (const branch of readNamespaces(kv, thread)) await deleteCheckpoints(kv, branch, () => true);
  await deleteLeftOvers(kv, thread);
  await deleteAll(kv, threadPrefix(HEADS, thread));
}

/** Deletes a checkpoint and its pending writes. Its small blobs remain. */
async function deleteCheckpoint(kv: KvStore, { record, fields }: StoredCheckpoint): Promise<void> {
  const { branch, id } = record;
  if (!Object.keys(fields).some(isBlobField)) {
    await deleteAll(kv, checkpointPrefix(CHECKPOINTS, branch, id));
    return;
  }
  await kv.setFields(checkpointKey(branch, id), absent(fieldsWithoutBlobs(fields)));
  await deleteAll(kv, writesPrefix(branch, id));
}

/**
 * Reads all checkpoints of a branch. Oldest first: if a checkpoint is deleted during the scan, its children are
 * read after it.
 */
async function needsOf(kv: KvStore, branch: Branch): Promise<Needs> {
  const needs: Needs = { blobs: new Map(), withoutCheckpoint: new Map() };
  const need = (ref: BlobRef) => needs.blobs.set(blobId(ref), ref);
  let checkpointOfWrites = '';
  for await (const { key, record } of kv.scan(branchPrefix(CHECKPOINTS, branch))) {
    const { checkpoint, rest } = partsOf(CHECKPOINTS, key);
    if (rest !== 'c') {
      // Writes are sorted after their checkpoint. Those of a missing checkpoint do not count.
      if (checkpoint === checkpointOfWrites)
        for (const { blob } of decodeWrites(record.fields)) if (blob !== null) need(blob);
      continue;
    }
    const stored = decodeCheckpoint(record.fields);
    if (stored === null) {
      if (Object.keys(record.fields).some(isBlobField)) needs.withoutCheckpoint.set(key, record.fields);
      continue;
    }
    checkpointOfWrites = checkpoint;
    for (const { value } of stored.channels.values())
      if (typeof value !== 'number') for (const ref of blobsOf(value)) need(ref);
  }
  return needs;
}

/** Deletes small blobs of deleted checkpoints. */
async function deleteSmallBlobs(kv: KvStore, { blobs, withoutCheckpoint }: Needs): Promise<void> {
  for (const [key, fields] of withoutCheckpoint) {
    const id = segmentText(partsOf(CHECKPOINTS, key).checkpoint)!;
    const unused = Object.keys(fields).filter((name) => isBlobField(name) && !blobs.has(smallBlobId(id, name)));
    if (unused.length > 0) await deleteFields(kv, key, unused);
  }
}

/** Deletes large blobs that are not needed, and returns the number of their records. */
async function deleteLargeBlobs(
  kv: KvStore,
  branch: Branch,
  needs: Needs,
  candidates: ReadonlySet<string>,
): Promise<number> {
  const used = new Set(Array.from(needs.blobs.values(), (ref) => keysOf(branch, ref)).flat());
  const leftOverBefore = Date.now() - LEFT_OVER_AFTER_MS;
  let deleted = 0;
  for await (const { key } of kv.scan(branchPrefix(BLOBS, branch), undefined, { keysOnly: true })) {
    if (used.has(key)) continue;
    if (!candidates.has(key) && (await storedAtOf(kv, key)) > leftOverBefore) continue;
    if (await kv.delete(key)) deleted += 1;
  }
  return deleted;
}

async function storedAtOf(kv: KvStore, key: string): Promise<number> {
  return numberOf(await kv.getField(key, STORED_AT_FIELD)) ?? 0;
}

/**
 * Deletes pending writes whose checkpoint is missing with their blobs, and the other records of namespaces that have no checkpoint any
 * more: marks of fences, and small blobs of namespaces whose name is not known.
 */
async function deleteLeftOvers(kv: KvStore, thread: string): Promise<void> {
  let leftOvers: [key: string, fields: RecordFields][] = [];
  let [namespace, hasCheckpoints, checkpointOfWrites] = ['', false, ''];
  const deleteOfNamespace = async () => {
    if (!hasCheckpoints) for (const [key, fields] of leftOvers) await deleteFields(kv, key, Object.keys(fields));
    leftOvers = [];
    hasCheckpoints = false;
  };
  for await (const { key, record } of kv.scan(threadPrefix(CHECKPOINTS, thread))) {
    const parts = partsOf(CHECKPOINTS, key);
    if (parts.namespace !== namespace) await deleteOfNamespace();
    namespace = parts.namespace;
    if (parts.rest !== 'c') {
      if (checkpointOfWrites !== `${namespace}.${parts.checkpoint}`) {
        await kv.delete(key);
        const prefix = `${BLOBS}${parts.thread}.${namespace}.`;
        for (const { blob } of decodeWrites(record.fields))
          if (blob !== null) for (const blobKey of recordKeysUnder(prefix, blob)) await kv.delete(blobKey);
      }
    } else if (record.fields[BODY_FIELD] === undefined) leftOvers.push([key, record.fields]);
    else {
      hasCheckpoints = true;
      checkpointOfWrites = `${namespace}.${parts.checkpoint}`;
    }
  }
  await deleteOfNamespace();
}

/** Deletes fields of a record, unless it is a checkpoint now. */
async function deleteFields(kv: KvStore, key: string, names: readonly string[]): Promise<void> {
  await kv.swap(key, { expected: { [BODY_FIELD]: null }, set: absent(names) });
}

function absent(names: readonly string[]): Record<string, null> {
  return Object.fromEntries(names.map((name) => [name, null]));
}

async function deleteAll(kv: KvStore, prefix: string): Promise<void> {
  let cursor: string | undefined;
  do {
    const step = await kv.deletePrefix(prefix, { limit: 200, ...(cursor !== undefined && { cursor }) });
    cursor = step.next;
  } while (cursor !== undefined);
}

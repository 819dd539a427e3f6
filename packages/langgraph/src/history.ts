/** Reads stored checkpoints with their pending writes, newest first. */
import type { KvEntry, KvStore } from '@tidemark/core';
import { endOfPrefix, segmentText } from '@tidemark/core/adapters';
import type { RecordFields } from './blobs.ts';
import { type CheckpointRecord, decodeCheckpoint } from './checkpoint-record.ts';
import {
  type Branch,
  branchPrefix,
  CHECKPOINTS,
  checkpointPrefix,
  checkpointSegment,
  partsOf,
  threadPrefix,
} from './keys.ts';
import { decodeWrites, type StoredWrite } from './pending-writes.ts';
import { damagedRecord } from './refuse.ts';

/** A checkpoint with the writes that tasks have added to it. */
export interface StoredCheckpoint {
  record: CheckpointRecord;
  writes: StoredWrite[];
  /** The fields of the record, some of which are blobs. */
  fields: RecordFields;
}

/** Large enough for the newest checkpoint and the pending writes of a task. */
const FIRST_PAGE = 2;
const PAGE = 50;

/** Returns the requested checkpoint, or the latest of the namespace. Returns `null` if there is none. */
export async function readCheckpoint(kv: KvStore, branch: Branch, id?: string): Promise<StoredCheckpoint | null> {
  for await (const stored of readHistory(kv, branch, id === undefined ? { firstPage: FIRST_PAGE } : { only: id }))
    return stored;
  return null;
}

/** Yields the checkpoints of a namespace, newest first. The checkpoint `before` itself is not included. */
export async function* readHistory(
  kv: KvStore,
  branch: Branch,
  { before, only, firstPage = PAGE }: { before?: string; only?: string; firstPage?: number } = {},
): AsyncGenerator<StoredCheckpoint> {
  const prefix = only === undefined ? branchPrefix(CHECKPOINTS, branch) : checkpointPrefix(CHECKPOINTS, branch, only);
  const to = before === undefined ? undefined : `${branchPrefix(CHECKPOINTS, branch)}${checkpointSegment(before)}.`;
  let writes: StoredWrite[] = [];
  let writesOf = '';
  for await (const { key, record } of reversed(kv, prefix, to, firstPage)) {
    const { checkpoint, rest } = partsOf(CHECKPOINTS, key);
    // Writes can be stored before their checkpoint. Writes of other checkpoints are discarded.
    if (checkpoint !== writesOf) writes = [];
    writesOf = checkpoint;
    if (rest !== 'c') {
      writes.unshift(...decodeWrites(record.fields));
      continue;
    }
    const stored = decodeCheckpoint(record.fields);
    if (stored !== null) yield { record: stored, writes, fields: record.fields };
  }
}

/** Yields the namespaces of a thread that have checkpoints, in key order. */
export async function* readNamespaces(kv: KvStore, thread: string): AsyncGenerator<Branch> {
  for await (const namespace of segmentsAfter(kv, threadPrefix(CHECKPOINTS, thread))) {
    const text = segmentText(namespace.segment);
    const branch = text !== null ? { thread, namespace: text } : await branchAt(kv, namespace.key);
    if (branch !== null) yield branch;
  }
}

/** Yields the threads that have checkpoints, in key order. */
export async function* readThreads(kv: KvStore): AsyncGenerator<string> {
  for await (const { segment, key } of segmentsAfter(kv, CHECKPOINTS)) {
    const thread = segmentText(segment) ?? (await branchAt(kv, key))?.thread;
    if (thread !== undefined) yield thread;
  }
}

/** Yields each distinct next segment of the keys under a prefix, with the first key that contains the segment. */
async function* segmentsAfter(kv: KvStore, prefix: string): AsyncGenerator<{ segment: string; key: string }> {
  let from = prefix;
  for (;;) {
    const { items } = await kv.scanPage(prefix, { keysOnly: true, limit: 1, from });
    if (items.length === 0) return;
    const { key } = items[0]!;
    const segment = key.slice(prefix.length).split('.', 1)[0]!;
    yield { segment, key };
    from = endOfPrefix(`${prefix}${segment}.`);
  }
}

/** Returns the branch of the first checkpoint at or after a key. Used for keys whose names are hashed. */
async function branchAt(kv: KvStore, key: string): Promise<Branch | null> {
  const { thread, namespace } = partsOf(CHECKPOINTS, key);
  const prefix = `${CHECKPOINTS}${thread}.${namespace}.`;
  for await (const { record } of kv.scan(prefix, undefined, { from: key })) {
    const stored = decodeCheckpoint(record.fields);
    if (stored !== null) return stored.branch;
  }
  return null;
}

/** Scans in reverse order. The first page is small. */
async function* reversed(
  kv: KvStore,
  prefix: string,
  before: string | undefined,
  firstPage: number,
): AsyncGenerator<KvEntry> {
  let to = before;
  for (let size = firstPage; ; size = PAGE) {
    // Unlike `limit`, `maxResults` does not read one more record to find out whether there is another page.
    const options = { reverse: true, limit: PAGE + 1, filter: { maxResults: size } };
    const page = await kv.scanPage(prefix, { ...options, ...(to !== undefined && { to }) });
    // Throws, because otherwise an older checkpoint would be mistaken for the latest one.
    if (page.damaged?.length) throw damagedRecord(page.damaged[0]!);
    yield* page.items;
    if (page.items.length < size && page.next === undefined) return;
    to = page.items.at(-1)!.key;
  }
}

/** Merges several histories, each sorted from newest to oldest. */
export async function* newestFirst(
  histories: readonly AsyncGenerator<StoredCheckpoint>[],
): AsyncGenerator<StoredCheckpoint> {
  const heads: { stored: StoredCheckpoint; history: AsyncGenerator<StoredCheckpoint> }[] = [];
  for (const history of histories) {
    const { value, done } = await history.next();
    if (!done) heads.push({ stored: value, history });
  }
  while (heads.length > 0) {
    let newest = 0;
    for (const [at, { stored }] of heads.entries()) if (stored.record.id > heads[newest]!.stored.record.id) newest = at;
    const { stored, history } = heads[newest]!;
    yield stored;
    const { value, done } = await history.next();
    if (done) heads.splice(newest, 1);
    else heads[newest] = { stored: value, history };
  }
}

/**
 * Deletes checkpoints that are no longer needed, and blobs that no checkpoint refers to. Checkpoints are deleted first.
 * Then the remaining checkpoints are read again and unreferenced blobs are deleted, so that a concurrent writer never
 * loses a value.
 */
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import { type Duration, type KvStore, numberOf } from '@tidemark/core';
import { checkDuration, type Frame } from '@tidemark/core/adapters';
import { blobRefsOf, partKeys, STORED_AT_FIELD } from './blobs.ts';
import type { CheckpointRecord } from './checkpoint-record.ts';
import { readHead } from './fence.ts';
import { readHistory, readNamespaces, type StoredCheckpoint } from './history.ts';
import { BLOBS, type Branch, branchPrefix, CHECKPOINTS, checkpointPrefix, HEADS, threadPrefix } from './keys.ts';
import { refuse } from './refuse.ts';

/** Options of `prune`. A checkpoint is kept if either option keeps it. */
export interface PruneOptions {
  /** How many of the newest checkpoints to keep, at least 1. Default: 1. */
  keep?: number;
  /** Keeps checkpoints that are younger than this. Default: age does not matter. */
  olderThan?: Duration;
}

/** The numbers of deleted records. */
export interface Pruned {
  checkpoints: number;
  blobs: number;
}

type Load = (frame: Frame) => Promise<unknown>;

/** The parts of a checkpoint that pruning needs. */
interface Summary {
  id: string;
  parentId: string | null;
  storedAt: number;
  /** The names of channels whose value is stored. */
  values: ReadonlySet<string>;
  /** Channels that are rebuilt from the writes of earlier checkpoints. */
  deltaChannels: readonly string[];
  /** For a subgraph: the checkpoint of the outermost graph to which this checkpoint belongs. */
  rootId: string | null;
}

/**
 * A blob without a checkpoint counts as a leftover only after this time. Until then, its checkpoint may still be
 * stored.
 */
const LEFT_OVER_AFTER_MS = 10 * 60_000;

/** Prunes all graphs of a thread. */
export async function pruneThread(kv: KvStore, thread: string, options: PruneOptions, load: Load): Promise<Pruned> {
  const { keep, since } = checkOptions(options);
  const pruned: Pruned = { checkpoints: 0, blobs: 0 };
  const branches = await Array.fromAsync(readNamespaces(kv, thread));
  // The outermost graph comes first, because checkpoints of subgraphs are deleted together with the step to which they
  // belong.
  branches.sort((a, b) => a.namespace.length - b.namespace.length);
  let rootIds: ReadonlySet<string> | null = null;
  for (const branch of branches) {
    const checkpoints = await summariesOf(kv, branch, load);
    const head = await readHead(kv, branch);
    const isRecent = (one: Summary, at: number) => at < keep || one.storedAt >= since || one.id === head?.id;
    const isOfLostStep = ({ rootId }: Summary) => rootId !== null && rootIds !== null && !rootIds.has(rootId);
    const kept = keptOf(checkpoints, (one, at) => isRecent(one, at) && !isOfLostStep(one));
    if (branch.namespace === '') rootIds = kept;
    const { checkpoints: deleted, blobs } = await deleteCheckpoints(
      kv,
      branch,
      (id) => !kept.has(id),
      checkpoints[0]?.id,
    );
    pruned.checkpoints += deleted;
    pruned.blobs += blobs;
  }
  return pruned;
}

/**
 * Deletes a thread. If another process stores a checkpoint at the same time, the values of that checkpoint are kept.
 */
export async function deleteThread(kv: KvStore, thread: string): Promise<void> {
  for await (const branch of readNamespaces(kv, thread)) await deleteCheckpoints(kv, branch, () => true);
  // Deletes writes whose checkpoint was never stored, and the heads of a fenced thread.
  await deleteAll(kv, threadPrefix(CHECKPOINTS, thread));
  await deleteAll(kv, threadPrefix(HEADS, thread));
}

/** Deletes checkpoints up to `newest`, and blobs that no other checkpoint refers to. */
async function deleteCheckpoints(
  kv: KvStore,
  branch: Branch,
  isDoomed: (id: string) => boolean,
  newest?: string,
): Promise<Pruned> {
  const candidates = new Set<string>();
  let checkpoints = 0;
  for await (const stored of readHistory(kv, branch)) {
    const { id } = stored.record;
    if ((newest !== undefined && id > newest) || !isDoomed(id)) continue;
    for (const key of blobKeysOf(stored)) candidates.add(key);
    await deleteAll(kv, checkpointPrefix(CHECKPOINTS, branch, id));
    checkpoints += 1;
  }
  const used = new Set<string>();
  for await (const stored of readHistory(kv, branch)) for (const key of blobKeysOf(stored)) used.add(key);
  const leftOverBefore = Date.now() - LEFT_OVER_AFTER_MS;
  let blobs = 0;
  for await (const { key } of kv.scan(branchPrefix(BLOBS, branch), undefined, { keysOnly: true })) {
    if (used.has(key)) continue;
    if (!candidates.has(key) && (await storedAtOf(kv, key)) > leftOverBefore) continue;
    if (await kv.delete(key)) blobs += 1;
  }
  return { checkpoints, blobs };
}

async function storedAtOf(kv: KvStore, key: string): Promise<number> {
  return numberOf(await kv.getField(key, STORED_AT_FIELD)) ?? 0;
}

function* blobKeysOf(stored: StoredCheckpoint): Iterable<string> {
  for (const ref of blobRefsOf(stored)) yield* partKeys(stored.record.branch, ref);
}

/**
 * Returns the ids of the checkpoints to keep: the chosen checkpoints, and the checkpoints from which their delta
 * channels are rebuilt.
 */
function keptOf(checkpoints: readonly Summary[], isChosen: (one: Summary, at: number) => boolean): Set<string> {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const kept = new Set<string>();
  for (const [at, one] of checkpoints.entries()) {
    if (!isChosen(one, at)) continue;
    kept.add(one.id);
    const open = new Set(one.deltaChannels.filter((name) => !one.values.has(name)));
    let ancestor = one.parentId === null ? undefined : byId.get(one.parentId);
    while (ancestor !== undefined && open.size > 0) {
      kept.add(ancestor.id);
      for (const name of ancestor.values) open.delete(name);
      ancestor = ancestor.parentId === null ? undefined : byId.get(ancestor.parentId);
    }
  }
  return kept;
}

async function summariesOf(kv: KvStore, branch: Branch, load: Load): Promise<Summary[]> {
  const summaries: Summary[] = [];
  for await (const { record } of readHistory(kv, branch)) summaries.push(await summaryOf(record, load));
  return summaries;
}

async function summaryOf(record: CheckpointRecord, load: Load): Promise<Summary> {
  const metadata = (await load(record.metadata)) as CheckpointMetadata;
  return {
    id: record.id,
    parentId: record.parentId,
    storedAt: record.storedAt,
    values: new Set(record.channels.keys()),
    deltaChannels: Object.keys(metadata.counters_since_delta_snapshot ?? {}),
    rootId: record.branch.namespace === '' ? null : (metadata.parents?.[''] ?? null),
  };
}

async function deleteAll(kv: KvStore, prefix: string): Promise<void> {
  let cursor: string | undefined;
  do {
    const step = await kv.deletePrefix(prefix, { limit: 200, ...(cursor !== undefined && { cursor }) });
    cursor = step.next;
  } while (cursor !== undefined);
}

function checkOptions({ keep = 1, olderThan }: PruneOptions): { keep: number; since: number } {
  if (!Number.isSafeInteger(keep) || keep < 1) throw refuse('keep', 'must be an integer of at least 1');
  const age = olderThan === undefined ? null : checkDuration(olderThan, 'olderThan');
  return { keep, since: age === null ? Number.POSITIVE_INFINITY : Date.now() - age };
}

/**
 * Deletes checkpoints that are no longer needed, and blobs that no checkpoint refers to. `sweep.ts` deletes the blobs, so
 * that a concurrent writer never loses a value.
 */
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import type { Duration, KvStore } from '@tidemark/core';
import { checkDuration, type Frame } from '@tidemark/core/adapters';
import type { CheckpointRecord } from './checkpoint-record.ts';
import { readHead } from './fence.ts';
import { readHistory, readNamespaces } from './history.ts';
import type { Branch } from './keys.ts';
import { refuse } from './refuse.ts';
import { deleteCheckpoints } from './sweep.ts';

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
  /** The number of records of large values. Small values are deleted with their checkpoints. */
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

function checkOptions({ keep = 1, olderThan }: PruneOptions): { keep: number; since: number } {
  if (!Number.isSafeInteger(keep) || keep < 1) throw refuse('keep', 'must be an integer of at least 1');
  const age = olderThan === undefined ? null : checkDuration(olderThan, 'olderThan');
  return { keep, since: age === null ? Number.POSITIVE_INFINITY : Date.now() - age };
}

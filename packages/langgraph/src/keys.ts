/**
 * The kv keys of checkpoints. Within a namespace of a thread, keys are sorted by checkpoint, so one reverse scan reads
 * checkpoints with their pending writes, newest first.
 *
 *     tidemark.langgraph.cp.<thread>.<namespace>.<checkpoint>.c         a checkpoint
 *     tidemark.langgraph.cp.<thread>.<namespace>.<checkpoint>.w.<task>  the pending writes of a task
 *     tidemark.langgraph.blob.<thread>.<namespace>.<checkpoint>.<name>  a large value, named by the checkpoint that wrote it
 *     tidemark.langgraph.head.<thread>.<namespace>.h                    the head of a fenced branch
 */
import { keySegment } from '@tidemark/core/adapters';
import { refuse } from './refuse.ts';

export const CHECKPOINTS = 'tidemark.langgraph.cp.';
export const BLOBS = 'tidemark.langgraph.blob.';
export const HEADS = 'tidemark.langgraph.head.';

/** A namespace of a thread: the history of a graph or of one of its subgraphs. */
export interface Branch {
  readonly thread: string;
  readonly namespace: string;
}

export function threadPrefix(root: string, thread: string): string {
  return `${root}${keySegment(thread)}.`;
}

/** The segments of branches. A call needs them several times, and encoding takes a microsecond. */
const segments = new WeakMap<Branch, string>();

export function branchPrefix(root: string, branch: Branch): string {
  let encoded = segments.get(branch);
  if (encoded === undefined) {
    encoded = `${keySegment(branch.thread)}.${keySegment(branch.namespace)}.`;
    segments.set(branch, encoded);
  }
  return `${root}${encoded}`;
}

/** Returns the prefix of all keys that belong to one checkpoint. */
export function checkpointPrefix(root: string, branch: Branch, id: string): string {
  return `${branchPrefix(root, branch)}${checkpointSegment(id)}.`;
}

export function checkpointKey(branch: Branch, id: string): string {
  return `${checkpointPrefix(CHECKPOINTS, branch, id)}c`;
}

/** Returns the prefix of the pending writes of a checkpoint. */
export function writesPrefix(branch: Branch, id: string): string {
  return `${checkpointPrefix(CHECKPOINTS, branch, id)}w.`;
}

export function writesKey(branch: Branch, id: string, task: string): string {
  return `${writesPrefix(branch, id)}${keySegment(task)}`;
}

export function headKey(branch: Branch): string {
  return `${branchPrefix(HEADS, branch)}h`;
}

/** Returns the parts of a key under `CHECKPOINTS` or `BLOBS` in their escaped form. */
export function partsOf(
  root: string,
  key: string,
): { thread: string; namespace: string; checkpoint: string; rest: string } {
  const [thread = '', namespace = '', checkpoint = '', ...rest] = key.slice(root.length).split('.');
  return { thread, namespace, checkpoint, rest: rest.join('.') };
}

/** Returns the escaped id. Ids are not hashed, because hashes do not sort by time. */
export function checkpointSegment(id: string): string {
  const segment = keySegment(id);
  if (segment.startsWith('~')) throw refuse('checkpoint_id', 'must have at most 90 letters, digits, "-" or "_"');
  return segment;
}

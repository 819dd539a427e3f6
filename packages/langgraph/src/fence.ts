/**
 * The fence of threads that only one process at a time may continue. A record per branch names its head. A writer makes
 * its checkpoint the head with a swap, which succeeds only if the head is the checkpoint's parent, and stores the
 * checkpoint afterwards.
 *
 * A process may die between the two steps, or only be slow. The next writer therefore marks the missing checkpoint as
 * fenced before it becomes the head itself: the mark and the checkpoint are fields of one record, so exactly one of
 * them is stored.
 */
import { type KvStore, TidemarkError, textOf } from '@tidemark/core';
import { BODY_FIELD } from './checkpoint-record.ts';
import { readCheckpoint, type StoredCheckpoint } from './history.ts';
import { type Branch, checkpointKey, headKey } from './keys.ts';

/** The field of a checkpoint's record that names the checkpoint by which it was fenced off. */
export const FENCED_FIELD = 'fenced';
const HEAD_FIELD = 'id';
const PARENT_FIELD = 'parent';
/** The maximum number of attempts. An attempt fails only if another writer has moved the head. */
const MAX_TRIES = 100;

/** The newest checkpoint of a fenced branch, and its parent. */
interface Head {
  id: string;
  parentId: string | null;
}

/**
 * Makes a checkpoint the head of its branch. The checkpoint may then be stored, unless another writer fences it off.
 *
 * @throws `CONFLICT` if the head is not the parent.
 */
export async function claimHead(kv: KvStore, branch: Branch, parentId: string | null, id: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const head = await readHead(kv, branch);
    if (head?.id === id) return;
    if (head === null) {
      // A thread that was begun without a fence has no head.
      const latest = (await readCheckpoint(kv, branch))?.record.id ?? null;
      if (latest !== parentId) throw conflict(branch, parentId, latest);
    } else if (head.id !== parentId) {
      // The writer of the head may have died before it stored its checkpoint.
      const isMissing = head.parentId === parentId && (await fenceOff(kv, branch, head.id, id));
      if (!isMissing) throw conflict(branch, parentId, head.id);
    }
    const { swapped } = await kv.swap(headKey(branch), {
      expected: { [HEAD_FIELD]: head?.id ?? null },
      set: { [HEAD_FIELD]: id, [PARENT_FIELD]: parentId },
    });
    if (swapped) return;
  }
  throw conflict(branch, parentId, null);
}

/**
 * Returns the latest checkpoint of a fenced branch. That is not always the one with the highest id: the clocks of two
 * machines, from which ids are made, differ.
 */
export async function readFenced(kv: KvStore, branch: Branch): Promise<StoredCheckpoint | null> {
  const [head, latest] = await Promise.all([readHead(kv, branch), readCheckpoint(kv, branch)]);
  if (head === null || head.id === latest?.record.id) return latest;
  const stored = await readCheckpoint(kv, branch, head.id);
  if (stored !== null) return stored;
  return head.parentId === null ? null : readCheckpoint(kv, branch, head.parentId);
}

/** Returns the head of a branch, or `null` if no fenced writer has stored a checkpoint there. */
export async function readHead(kv: KvStore, branch: Branch): Promise<Head | null> {
  const record = await kv.get(headKey(branch));
  const id = textOf(record?.fields[HEAD_FIELD]);
  return id === null ? null : { id, parentId: textOf(record!.fields[PARENT_FIELD]) };
}

/** Prevents a checkpoint from being stored. Returns false if it is stored already. */
async function fenceOff(kv: KvStore, branch: Branch, id: string, by: string): Promise<boolean> {
  const change = { expected: { [BODY_FIELD]: null }, set: { [FENCED_FIELD]: by } };
  return (await kv.swap(checkpointKey(branch, id), change)).swapped;
}

export function conflict(branch: Branch, parentId: string | null, head: string | null): TidemarkError {
  const rule = 'only one process at a time may continue a fenced thread';
  const position = `Thread ${JSON.stringify(branch.thread)} is at checkpoint ${JSON.stringify(head)}`;
  const message = `${position} and not at ${JSON.stringify(parentId)}: ${rule}. Read the state again.`;
  return new TidemarkError('CONFLICT', message, { rule, current: head });
}

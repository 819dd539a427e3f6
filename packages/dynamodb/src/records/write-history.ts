/**
 * The ids of the last writes of a record. With them, the retry of a write recognises that an earlier attempt was
 * applied, even if other writers have followed. An id begins with the revision that the write gave the record.
 * Revisions only increase, so if the history contains an older write but not this one, this one was never applied.
 */
import { randomBytes } from 'node:crypto';
import type { Item } from '../client.ts';

/** The attributes of the ids, newest first. The condition of a write compares the first one. */
export const WRITE_ATTRIBUTES: readonly string[] = ['w', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7'];
const REVISION_BYTES = 8;
const RANDOM_BYTES = 8;
/** Stored by an update for an id that the record does not have yet, because an update cannot leave an attribute out. */
export const NO_WRITE = Buffer.alloc(1);

export function newWriteId(revision: number): Buffer {
  const id = Buffer.allocUnsafe(REVISION_BYTES + RANDOM_BYTES);
  id.writeBigUInt64BE(BigInt(revision));
  randomBytes(RANDOM_BYTES).copy(id, REVISION_BYTES);
  return id;
}

/** Returns the ids of an item, newest first. */
export function writesOf(item: Item): Buffer[] {
  const ids = WRITE_ATTRIBUTES.map((attribute) => Buffer.from(item[attribute]?.B ?? NO_WRITE));
  return ids.filter(({ length }) => length > NO_WRITE.length);
}

/** Returns the attributes of an item after a write. */
export function historyItem(writeId: Buffer, before: readonly Buffer[]): Item {
  const ids = [writeId, ...before].slice(0, WRITE_ATTRIBUTES.length);
  return Object.fromEntries(ids.map((id, at) => [WRITE_ATTRIBUTES[at]!, { B: id }]));
}

/** Whether a write that is not in the history may have been applied, because the history no longer reaches back to it. */
export function mayBeForgotten(writeId: Buffer, history: readonly Buffer[]): boolean {
  const oldest = history[WRITE_ATTRIBUTES.length - 1];
  return oldest !== undefined && oldest.readBigUInt64BE() > writeId.readBigUInt64BE();
}

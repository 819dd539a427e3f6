/**
 * The stored form of pending writes: one record per checkpoint and task, with one field per write. The first write of
 * an index is kept, except that writes of errors, interrupts and resumes replace earlier ones.
 */
import { WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint';
import type { KvStore } from '@tidemark/core';
import { cutIntoFields, type Frame, joinFields, packFrames, unpackFrames } from '@tidemark/core/adapters';
import type { Encoding } from './encoding.ts';
import type { BlobRef } from './value-refs.ts';

/** A serialised write of a task. `value` is empty if it is stored in a blob. */
export interface StoredWrite {
  task: string;
  index: number;
  channel: string;
  value: Frame;
  blob: BlobRef | null;
}

interface Header {
  task: string;
  index: number;
  channel: string;
  blob: BlobRef | null;
}

/** The maximum number of attempts. An attempt fails only if another writer of the same task has stored an index. */
const MAX_TRIES = 100;

/** Returns the index of a write: its position, or a fixed negative number for errors, interrupts and resumes. */
export function indexOfWrite(channel: string, position: number): number {
  return WRITES_IDX_MAP[channel] ?? position;
}

/** Stores the writes of a task. Skips writes whose index is already stored. */
export async function storeWrites(
  kv: KvStore,
  key: string,
  writes: readonly StoredWrite[],
  options: Encoding,
): Promise<void> {
  const replacing = writes.filter(({ index }) => index < 0);
  let adding = writes.filter(({ index }) => index >= 0);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const set = Object.assign({}, ...[...replacing, ...adding].map((write) => encodeWrite(write, options)));
    if (Object.keys(set).length === 0) return;
    const expected = Object.fromEntries(adding.map(({ index }) => [fieldOf(index), null]));
    const change = { ...(adding.length > 0 && { expected }), set, sealed: options.sealed };
    const { swapped, record } = await kv.swap(key, change);
    if (swapped) return;
    adding = adding.filter(({ index }) => record?.fields[fieldOf(index)] === undefined);
  }
  throw new Error(`The writes of ${key} could not be stored: other writers were faster ${MAX_TRIES} times`);
}

/** Returns the writes of a record, sorted by index. */
export function decodeWrites(fields: Record<string, Uint8Array>): StoredWrite[] {
  const writes: StoredWrite[] = [];
  for (const name of Object.keys(fields)) {
    if (!/^i-?\d+$/.test(name)) continue;
    const [first, value] = unpackFrames(joinFields(name, fields)!);
    writes.push({ ...(JSON.parse(Buffer.from(first!.bytes).toString('utf8')) as Header), value: value! });
  }
  return writes.sort((a, b) => a.index - b.index);
}

function encodeWrite({ value, ...header }: StoredWrite, options: Encoding) {
  const frames = [{ type: 'tidemark.write.1', bytes: Buffer.from(JSON.stringify(header satisfies Header)) }, value];
  return cutIntoFields(fieldOf(header.index), packFrames(frames, options), options.fieldBytes);
}

function fieldOf(index: number): string {
  return `i${index}`;
}

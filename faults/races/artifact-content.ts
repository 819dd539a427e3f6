/** Contents of the artifact races and the checks afterwards. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ArtifactStore } from '@tidemark/core';
import type { Arena } from './race.ts';

const PIECES = 4;

/** Returns bytes that no other round and no other call stores. */
export function contentOf({ id, random }: Arena, length: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(random.between(1, 256));
  bytes.set(Buffer.from(`${id} ${random.next()}`));
  return bytes;
}

/** Yields the bytes in chunks, spread over a time. */
export async function* slowly(bytes: Uint8Array, durationMs: number): AsyncGenerator<Uint8Array> {
  const size = Math.ceil(bytes.length / PIECES);
  for (let from = 0; from < bytes.length; from += size) {
    yield bytes.subarray(from, from + size);
    await sleep(durationMs / PIECES);
  }
}

/** Returns the problems of an acknowledged artifact. */
export async function readBack(store: ArtifactStore, id: string, bytes: Uint8Array, when: string): Promise<string[]> {
  try {
    const read = await store.get(id);
    if (read === null) return [`an acknowledged artifact is gone, ${when}`];
    return Buffer.from(read).equals(bytes) ? [] : [`an acknowledged artifact has other bytes, ${when}`];
  } catch (error) {
    return [`an acknowledged artifact cannot be read, ${when}: ${String(error).slice(0, 90)}`];
  }
}

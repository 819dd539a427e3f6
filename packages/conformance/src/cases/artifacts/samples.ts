/** Sample contents and checks of the artifact cases. */
import { createHash } from 'node:crypto';
import type { ArtifactRef, ArtifactScope, ArtifactStore } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import { allPages } from '../iterate.ts';

export const TEXT = 'A report, überlang 🌊';

/** Returns bytes that depend on their seed, so that no two chunks are equal. */
export function bytesOf(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function sameBytes(actual: Uint8Array | null, expected: Uint8Array | string): boolean {
  return actual instanceof Uint8Array && Buffer.from(expected as string).equals(actual);
}

export async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncIterable<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

export async function listed(store: ArtifactStore, scope?: ArtifactScope): Promise<string[]> {
  return (await allPages((cursor) => store.list(scope, { cursor, limit: 3 }))).map((ref) => ref.id);
}

/** Checks with every kind of read whether a reference exists. */
export async function expectThere(
  store: ArtifactStore,
  ref: ArtifactRef,
  there: boolean,
  scope?: ArtifactScope,
): Promise<void> {
  const access = scope && { scope };
  const answers = {
    get: (await store.get(ref.id, access)) !== null,
    getStream: (await store.getStream(ref.id, access)) !== null,
    getRef: (await store.getRef(ref.id, access)) !== null,
    exists: await store.exists(ref.id, access),
    list: (await listed(store, scope)).includes(ref.id),
  };
  const expected = { get: there, getStream: there, getRef: there, exists: there, list: there };
  expectEqual(
    answers,
    expected,
    `for ${JSON.stringify(scope ?? 'no scope')} the artifact is ${there ? '' : 'not '}there`,
  );
}

/** Broken artifact stores: they remove or hide artifacts that are stored at the same time. */

import type { ArtifactRef, ArtifactStore } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

const MOST = 1_000;
/** Long enough for concurrent calls to finish. */
const A_MOMENT_MS = 50;

async function allOf(artifacts: ArtifactStore): Promise<ArtifactRef[]> {
  return (await artifacts.list({}, { limit: MOST })).items;
}

/** Runs `work` and removes the artifacts that were stored in the meantime and for which `isRemoved` returns true. */
async function removingConcurrentPuts<T>(
  artifacts: ArtifactStore,
  work: () => Promise<T>,
  isRemoved: (ref: ArtifactRef) => boolean,
): Promise<T> {
  const before = new Set((await allOf(artifacts)).map(({ id }) => id));
  const result = await work();
  await sleep(A_MOMENT_MS);
  for (const ref of await allOf(artifacts)) if (!before.has(ref.id) && isRemoved(ref)) await artifacts.delete(ref.id);
  return result;
}

export const BROKEN_ARTIFACT_RACES: readonly BrokenStore[] = [
  broken(
    'bytes-keep-their-age',
    'does not reset the age of bytes that are stored again',
    'artifacts/bytes-put-again-are-young-again',
    {
      artifacts: (artifacts) => {
        const stored = new Map<string, ArtifactRef>();
        return {
          async putBytes(bytes, options) {
            const content = Buffer.from(bytes).toString('base64');
            const known = stored.get(content);
            if (known && (await artifacts.exists(known.id))) return known;
            const ref = await artifacts.putBytes(bytes, options);
            stored.set(content, ref);
            return ref;
          },
        };
      },
    },
  ),

  broken(
    'erasure-leaves-bytes',
    'leaves the bytes of an erased session for a sweep',
    'artifacts/erased-with-their-bytes',
    {
      admin: (admin, _, view) => ({
        async eraseSession(sessionId, options) {
          const { items } = await view.artifacts.list({ sessionId }, { limit: MOST });
          for (const { id } of items) await view.artifacts.delete(id);
          return admin.eraseSession(sessionId, options);
        },
      }),
    },
  ),

  broken(
    'erasure-takes-what-comes',
    'removes bytes that other sessions store during an erasure',
    'artifacts/erasure-beside-puts',
    {
      admin: (admin, _, view) => ({
        async eraseSession(sessionId, options) {
          const { items } = await view.artifacts.list({ sessionId }, { limit: MOST });
          const hashes = new Set(items.map(({ sha256 }) => sha256));
          const erase = () => admin.eraseSession(sessionId, options);
          return removingConcurrentPuts(view.artifacts, erase, ({ sha256 }) => hashes.has(sha256));
        },
      }),
    },
  ),

  broken(
    'sweep-takes-what-comes',
    'removes bytes whose reference is written during a sweep',
    'artifacts/sweeps-beside-puts',
    {
      artifacts: (artifacts) => ({
        sweep: (options) =>
          removingConcurrentPuts(
            artifacts,
            () => artifacts.sweep(options),
            () => true,
          ),
      }),
    },
  ),

  broken(
    'deleted-once-unlisted-for-good',
    'does not list an artifact that was deleted and stored again',
    'artifacts/deletes-beside-puts',
    () => {
      const deleted = new Set<string>();
      return {
        artifacts: (artifacts) => ({
          delete(id, access) {
            deleted.add(id);
            return artifacts.delete(id, access);
          },
          async list(scope, options) {
            const page = await artifacts.list(scope, options);
            return { ...page, items: page.items.filter(({ id }) => !deleted.has(id)) };
          },
        }),
      };
    },
  ),
];

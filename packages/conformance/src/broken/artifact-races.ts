/** Broken artifact stores: those that take, or lose sight of, what somebody stores at the same moment. */

import type { ArtifactRef, ArtifactStore } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

const MOST = 1_000;
/** Long enough for calls that began at the same moment to end. */
const A_MOMENT_MS = 50;

async function allOf(artifacts: ArtifactStore): Promise<ArtifactRef[]> {
  return (await artifacts.list({}, { limit: MOST })).items;
}

/** Removes what was stored during some work, where `isTaken` says so. */
async function takingWhatComes<T>(
  artifacts: ArtifactStore,
  work: () => Promise<T>,
  isTaken: (ref: ArtifactRef) => boolean,
): Promise<T> {
  const before = new Set((await allOf(artifacts)).map(({ id }) => id));
  const result = await work();
  await sleep(A_MOMENT_MS);
  for (const ref of await allOf(artifacts)) if (!before.has(ref.id) && isTaken(ref)) await artifacts.delete(ref.id);
  return result;
}

export const BROKEN_ARTIFACT_RACES: readonly BrokenStore[] = [
  broken(
    'bytes-keep-their-age',
    'Bytes that are stored again keep the age they had',
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
    'Erasing a session removes its references and leaves their bytes for a sweep',
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
    'Erasing a session takes the same bytes from sessions that store them meanwhile',
    'artifacts/erasure-beside-puts',
    {
      admin: (admin, _, view) => ({
        async eraseSession(sessionId, options) {
          const { items } = await view.artifacts.list({ sessionId }, { limit: MOST });
          const hashes = new Set(items.map(({ sha256 }) => sha256));
          const erase = () => admin.eraseSession(sessionId, options);
          return takingWhatComes(view.artifacts, erase, ({ sha256 }) => hashes.has(sha256));
        },
      }),
    },
  ),

  broken(
    'sweep-takes-what-comes',
    'A sweep takes bytes whose reference is written while it runs',
    'artifacts/sweeps-beside-puts',
    {
      artifacts: (artifacts) => ({
        sweep: (options) =>
          takingWhatComes(
            artifacts,
            () => artifacts.sweep(options),
            () => true,
          ),
      }),
    },
  ),

  broken(
    'deleted-once-unlisted-for-good',
    'An artifact that was deleted and stored again is readable, but not listed',
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

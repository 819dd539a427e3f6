/** Broken artifact stores: bytes that leak, vanish or change. */
import type { ArtifactAccess, ArtifactRef, ArtifactStore } from '@tidemark/core';
import { type BrokenStore, broken, healthy } from './wrap.ts';

const MOST = 1_000;

/** Drops the requested access for artifacts without a scope, so that everyone may use them. */
async function lenient(
  artifacts: ArtifactStore,
  id: string,
  access?: ArtifactAccess,
): Promise<ArtifactAccess | undefined> {
  const ref = await artifacts.getRef(id);
  return ref && Object.values(ref.scope).every((part) => part === null) ? undefined : access;
}

export const BROKEN_ARTIFACT_STORES: readonly BrokenStore[] = [
  broken(
    'artifact-leaks',
    'returns bytes to any session that knows their id',
    'artifacts/another-session-sees-nothing',
    {
      artifacts: (artifacts) => ({ get: (id, access) => artifacts.get(id, { ...access, scope: undefined }) }),
    },
  ),

  broken(
    'artifact-deleted-by-others',
    'lets any session delete an artifact',
    'artifacts/another-session-sees-nothing',
    {
      artifacts: (artifacts) => ({ delete: (id, access) => artifacts.delete(id, { ...access, scope: undefined }) }),
    },
  ),

  broken('parts-end-late', 'includes the byte at the end of a part', 'artifacts/parts-come-back', {
    artifacts: (artifacts) => ({
      getStream: (id, options) =>
        artifacts.getStream(id, options?.end === undefined ? options : { ...options, end: options.end + 1 }),
    }),
  }),

  broken(
    'unscoped-limit-takes-scoped',
    'removes artifacts of sessions to make room for one without a session',
    'artifacts/unscoped-are-limited',
    {
      artifacts: (artifacts) => ({
        async putText(text, options) {
          const ref = await artifacts.putText(text, options);
          const { items } = await artifacts.list({}, { limit: MOST });
          for (const { id, scope } of items)
            if (!options?.scope?.sessionId && scope.sessionId) await artifacts.delete(id);
          return ref;
        },
      }),
    },
  ),

  {
    name: 'unscoped-unlimited',
    fault: 'stores any number of artifacts without session and trace',
    caughtBy: 'artifacts/unscoped-are-limited',
    create() {
      const under = healthy();
      return { ...under, withRetention: () => under.store };
    },
  },

  broken(
    'parts-ignore-scope',
    'returns a part to any session that knows the id',
    'artifacts/parts-keep-to-their-scope',
    {
      artifacts: (artifacts) => ({
        getStream: (id, options) =>
          artifacts.getStream(id, options?.start === undefined ? options : { ...options, scope: undefined }),
      }),
    },
  ),

  broken(
    'delete-removes-shared-bytes',
    'removes shared bytes when one reference is deleted',
    'artifacts/deleting-one-leaves-the-other',
    {
      artifacts: (artifacts) => ({
        async delete(id, access) {
          const ref = await artifacts.getRef(id, access);
          const isDeleted = await artifacts.delete(id, access);
          const { items } = await artifacts.list({}, { limit: MOST });
          for (const other of items) if (isDeleted && other.sha256 === ref?.sha256) await artifacts.delete(other.id);
          return isDeleted;
        },
      }),
    },
  ),

  broken(
    'unscoped-matches-all',
    'matches an artifact without a scope in every scope',
    'artifacts/unscoped-fails-every-filter',
    {
      artifacts: (artifacts) => ({
        get: async (id, access) => artifacts.get(id, await lenient(artifacts, id, access)),
        exists: async (id, access) => artifacts.exists(id, await lenient(artifacts, id, access)),
      }),
    },
  ),

  broken('list-ignores-scope', 'ignores the scope of a list', 'artifacts/listed-by-scope', {
    artifacts: (artifacts) => ({ list: (_, options) => artifacts.list({}, options) }),
  }),

  broken(
    'one-reference-per-bytes',
    'returns the first reference for the same bytes in another session',
    'artifacts/same-bytes-two-sessions-two-references',
    {
      artifacts: (artifacts) => {
        const first = new Map<string, ArtifactRef>();
        return {
          async putText(text, options) {
            const known = first.get(text);
            if (known && (await artifacts.exists(known.id))) return known;
            const ref = await artifacts.putText(text, options);
            first.set(text, ref);
            return ref;
          },
        };
      },
    },
  ),

  broken(
    'artifact-outlives-expiry',
    'returns an artifact in the millisecond of its expiry',
    'artifacts/gone-at-its-millisecond',
    {
      artifacts: (artifacts) => ({
        async putText(text, options) {
          const ttl = options?.ttl;
          if (typeof ttl !== 'number') return artifacts.putText(text, options);
          const ref = await artifacts.putText(text, { ...options, ttl: ttl + 1 });
          return { ...ref, expiresAt: new Date(Date.parse(ref.expiresAt!) - 1).toISOString() };
        },
      }),
    },
  ),

  broken('text-as-latin1', 'stores text with one byte per character', 'artifacts/text-comes-back', {
    artifacts: (artifacts) => ({
      putText: (text, options) => artifacts.putBytes(Buffer.from(text, 'latin1'), options),
    }),
  }),

  broken('stream-cut-short', 'ends a stream after its first chunk', 'artifacts/streams-in-and-out', {
    artifacts: (artifacts) => ({
      async getStream(id, access) {
        const stream = await artifacts.getStream(id, access);
        if (!stream) return null;
        return (async function* (): AsyncGenerator<Uint8Array> {
          for await (const chunk of stream) {
            yield chunk;
            return;
          }
        })();
      },
    }),
  }),

  broken(
    'sweep-without-grace',
    'sweeps bytes whose reference may not be stored yet',
    'artifacts/swept-after-a-grace-period',
    {
      artifacts: (artifacts) => ({ sweep: (options) => artifacts.sweep({ ...options, grace: 1 }) }),
    },
  ),

  broken(
    'reading-is-no-use',
    'evicts artifacts by age, even if they are read',
    'artifacts/least-recently-used-goes',
    {},
    { artifacts: { strategy: 'fifo' } },
  ),
];

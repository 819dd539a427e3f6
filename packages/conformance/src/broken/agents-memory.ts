/** Broken memory: reused versions and forgotten requests. */
import type { AgentStore } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** Counts the versions of each key itself, and starts again at 1 after every delete. */
function restartingVersions(): Overrides {
  const before = new Map<string, number>();
  const shifted = (key: string, version: number) => version - (before.get(key) ?? 0);
  return {
    agents: (agents) => ({
      async saveMemoryState(key, state, options) {
        const shift = options?.expectedVersion ? (before.get(key) ?? 0) : 0;
        const expectedVersion = options?.expectedVersion === undefined ? undefined : options.expectedVersion + shift;
        const { version } = await agents.saveMemoryState(key, state, { ...options, expectedVersion });
        return { version: shifted(key, version) };
      },
      async deleteMemoryState(key, options) {
        const { version = 0 } = (await agents.getMemoryRecord(key)) ?? {};
        const deleted = await agents.deleteMemoryState(key, options);
        if (deleted) before.set(key, version);
        return deleted;
      },
    }),
  };
}

/** Remembers the last requests of each key itself, without passing request ids to the store below. */
function lastRequests(most: number): Overrides {
  const requests = new Map<string, { requestId: string; version: number }[]>();
  return {
    agents: (agents) => ({
      async saveMemoryState(key, state, { requestId, ...options } = {}) {
        const known = requests.get(key) ?? [];
        const answered = known.find((it) => it.requestId === requestId);
        if (answered) return { version: answered.version };
        const { version } = await agents.saveMemoryState(key, state, options);
        if (requestId !== undefined) requests.set(key, [...known, { requestId, version }].slice(-most));
        return { version };
      },
    }),
  };
}

const deleteWithout = (agents: AgentStore): Partial<AgentStore> => ({
  deleteMemoryState: (key, { requestId: _, ...options } = {}) => agents.deleteMemoryState(key, options),
});

export const BROKEN_MEMORY: readonly BrokenStore[] = [
  broken(
    'versions-restart',
    'restarts versions at 1 after a delete',
    'agents/memory/versions-go-on-after-a-delete',
    restartingVersions,
  ),
  broken(
    'versions-restart-beside-deletes',
    'restarts versions at 1 after a delete',
    'agents/memory/versions-beside-deletes',
    restartingVersions,
  ),
  broken(
    'memory-deletes-repeat',
    'deletes again when a delete is retried',
    'agents/memory/requests-outlive-the-state',
    {
      agents: deleteWithout,
    },
  ),
  broken('sixteen-saves', 'remembers only the last 16 saves of a key', 'agents/memory/many-requests-of-one-key', () =>
    lastRequests(16),
  ),
];

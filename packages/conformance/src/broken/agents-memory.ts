/** Broken memory: versions that come again, and requests that are forgotten. */
import type { AgentStore } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** Counts the versions of each key itself, from 1 after every delete. */
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

/** Remembers the last requests of each key itself, over a store that is told none. */
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
    'Versions begin at 1 again after a delete',
    'agents/memory/versions-go-on-after-a-delete',
    restartingVersions,
  ),
  broken(
    'versions-restart-beside-deletes',
    'Versions begin at 1 again after a delete',
    'agents/memory/versions-beside-deletes',
    restartingVersions,
  ),
  broken(
    'memory-deletes-repeat',
    'A delete that is retried deletes again',
    'agents/memory/requests-outlive-the-state',
    {
      agents: deleteWithout,
    },
  ),
  broken(
    'sixteen-saves',
    'Only the last 16 saves of a key are remembered',
    'agents/memory/many-requests-of-one-key',
    () => lastRequests(16),
  ),
];

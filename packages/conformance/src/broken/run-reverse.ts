/** Stores that break reverse reads and reads of a range of sequences. */
import type { FetchOptions, RunStore } from '@tidemark/core';
import { isTidemarkError } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** A store that changes the options of `fetchEvents`. */
function reading(change: (options: FetchOptions, runs: RunStore, runId: string) => FetchOptions): () => Overrides {
  return () => ({
    runs: (runs) => ({
      fetchEvents: async (runId, options = {}) => runs.fetchEvents(runId, change(options, runs, runId)),
    }),
  });
}

export const BROKEN_RUN_REVERSE: readonly BrokenStore[] = [
  broken(
    'order-of-events-ignored',
    'returns the oldest events first in either order',
    'runs/fetch-newest-first',
    reading(({ order: _, ...options }) => options),
  ),
  broken(
    'damage-ends-backwards-reads',
    'returns no events when a reverse read reaches damage',
    'runs/damage-read-backwards',
    () => ({
      runs: (runs) => ({
        async fetchEvents(runId, options) {
          const events = runs.fetchEvents(runId, options);
          return options?.order === 'newest' ? events.catch(() => []) : events;
        },
      }),
    }),
  ),
  broken('first-page-reversed', 'reverses the first page instead of the last', 'runs/fetch-newest-first', () => ({
    runs: (runs) => ({
      async fetchEvents(runId, { order, ...options } = {}) {
        const events = await runs.fetchEvents(runId, options);
        return order === 'newest' ? events.reverse() : events;
      },
    }),
  })),
  broken(
    'inclusive-before-seq',
    'returns the event at beforeSeq too',
    'runs/event-ranges-are-exclusive',
    reading((options) =>
      options.beforeSeq === undefined ? options : { ...options, beforeSeq: options.beforeSeq + 1 },
    ),
  ),
  broken(
    'after-seq-lost-backwards',
    'ignores afterSeq when it reads backwards',
    'runs/event-ranges-are-exclusive',
    reading((options) => (options.order === 'newest' ? { ...options, afterSeq: 0 } : options)),
  ),
  broken(
    'clamped-before-seq',
    'clamps beforeSeq instead of refusing it',
    'runs/bad-ranges-are-refused',
    reading((options) =>
      options.beforeSeq === undefined
        ? options
        : { ...options, beforeSeq: Math.trunc(Math.max(1, options.beforeSeq)) || 1 },
    ),
  ),
  broken(
    'archived-reads-empty-backwards',
    'returns no events of an archived run when it reads backwards',
    'runs/newest-of-removed-runs',
    () => ({
      runs: (runs) => ({
        fetchEvents: (runId, options) =>
          runs.fetchEvents(runId, options).catch((error: unknown) => {
            if (options?.order === 'newest' && isTidemarkError(error, 'RUN_ARCHIVED')) return [];
            throw error;
          }),
      }),
    }),
  ),
  broken('head-cached', 'reads the newest events up to the first head it saw', 'runs/newest-beside-appends', () => {
    const heads = new Map<string, number>();
    return {
      runs: (runs) => ({
        async fetchEvents(runId, options = {}) {
          if (options.order !== 'newest') return runs.fetchEvents(runId, options);
          const head = heads.get(runId) || (await runs.headSeq(runId));
          heads.set(runId, head);
          return runs.fetchEvents(runId, { ...options, beforeSeq: head + 1 });
        },
      }),
    };
  }),
];

/** Broken snapshots, forks and live reads: faults of stores that keep derived state in addition to the log. */
import {
  type KvRecord,
  type RunEventInput,
  type RunEventRecord,
  type RunSnapshot,
  reduceRun,
  type StateUpdate,
} from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_LIVING_STORES: readonly BrokenStore[] = [
  broken('refresh-without-storing', 'does not store a refreshed snapshot', 'runs/refresh-folds-what-is-new', () => ({
    runs: (runs) => ({
      async refreshSnapshot(runId, options) {
        const before = (await runs.getSnapshot(runId, options))?.lastEventSeq ?? 0;
        const snapshot = await runs.projectSnapshot(runId, options);
        return { snapshot, folded: snapshot.lastEventSeq - before };
      },
    }),
  })),
  broken(
    'mark-refused-by-the-guard',
    'ignores a stale mark at the same sequence',
    'runs/stale-until-refreshed',
    () => ({ runs: (runs) => ({ markStale: async (runId) => (await runs.getSnapshot(runId)) !== null }) }),
  ),
  broken('stale-for-ever', 'stays stale when a refresh finds nothing new', 'runs/stale-until-refreshed', () => ({
    runs: (runs) => ({
      async refreshSnapshot(runId, options) {
        const stored = await runs.getSnapshot(runId, options);
        const head = await runs.headSeq(runId, options);
        if (stored?.freshness === 'STALE' && stored.lastEventSeq === head) return { snapshot: stored, folded: 0 };
        return runs.refreshSnapshot(runId, options);
      },
    }),
  })),
  broken('no-write-back', 'makes every reader fold the same long tail', 'runs/long-tails-are-written-back', () => ({
    runs: (runs) => ({
      projectSnapshot: async (runId) => reduceRun(await runs.fetchEvents(runId, { limit: 10_000 })),
    }),
  })),
  broken(
    'snapshots-without-guard',
    'lets the last write win, even with an older snapshot',
    'runs/refreshers-never-go-back',
    () => {
      let oldest: RunSnapshot | null = null;
      let reads = 0;
      return {
        runs: (runs) => ({
          async refreshSnapshot(runId, options) {
            const refreshed = await runs.refreshSnapshot(runId, options);
            oldest ??= refreshed.snapshot;
            return refreshed;
          },
          getSnapshot: async (runId, options) => (++reads > 3 ? oldest : runs.getSnapshot(runId, options)),
        }),
      };
    },
  ),
  broken(
    'snapshots-outlive-runs',
    'keeps a snapshot that was stored after its run was deleted',
    'runs/snapshots-go-with-their-run',
    () => {
      const kept = new Map<string, RunSnapshot>();
      return {
        runs: (runs) => ({
          async refreshSnapshot(runId, options) {
            const refreshed = await runs.refreshSnapshot(runId, options);
            kept.set(runId, refreshed.snapshot);
            return refreshed;
          },
          getSnapshot: async (runId, options) => (await runs.getSnapshot(runId, options)) ?? kept.get(runId) ?? null,
        }),
      };
    },
  ),
  broken('fork-without-origin', 'forgets the origin of a fork', 'runs/fork-copies-up-to-a-sequence', () => ({
    runs: (runs) => ({
      fetchEvents: async (runId, options) =>
        (await runs.fetchEvents(runId, options)).map(({ forkedFrom: _, ...event }) => event as RunEventRecord),
    }),
  })),
  broken(
    'forks-share-ids',
    'copies events with the ids of their originals',
    'runs/fork-copies-up-to-a-sequence',
    () => ({
      runs: (runs) => ({
        async fetchEvents(runId, options) {
          const events = await runs.fetchEvents(runId, options);
          const origin = events[0]?.forkedFrom;
          const originals = origin ? await runs.fetchEvents(origin.runId, options) : [];
          return events.map((event, at) => (event.forkedFrom ? { ...event, eventId: originals[at]!.eventId } : event));
        },
      }),
    }),
  ),
  broken('fork-doubles', 'copies the events again when a fork is repeated', 'runs/fork-again-changes-nothing', () => ({
    runs: (runs) => ({
      async forkRun(runId, options) {
        const isThere = (await runs.headSeq(options.toRunId)) > 0;
        if (!isThere) return runs.forkRun(runId, options);
        const log = await runs.fetchEvents(runId, { limit: options.atSeq });
        const copies = log.map(({ runSeq: _, persistedAt: __, ...event }, n): RunEventInput => {
          return { ...event, runId: options.toRunId, idempotencyKey: `${n} again ${Math.random()}` };
        });
        await runs.appendEvents(copies);
        return { tenantId: log[0]!.tenantId, runId, forkedFrom: { runId, atSeq: log.length }, copied: 0 };
      },
    }),
  })),
  broken('fork-into-anything', 'forks into an existing run', 'runs/fork-spares-other-runs', () => ({
    runs: (runs) => ({
      async forkRun(runId, options) {
        const [first] = await runs.fetchEvents(options.toRunId, { limit: 1 });
        if (!first || first.forkedFrom) return runs.forkRun(runId, options);
        const log = await runs.fetchEvents(runId);
        const copies = log.map(({ runSeq: _, persistedAt: __, ...event }) => ({ ...event, runId: options.toRunId }));
        await runs.appendEvents(copies);
        return {
          tenantId: first.tenantId,
          runId: options.toRunId,
          forkedFrom: { runId, atSeq: 1 },
          copied: log.length,
        };
      },
    }),
  })),
  broken(
    'bounded-by-dropping',
    'drops events that a slow reader has no room for',
    'runs/slow-readers-miss-nothing',
    () => ({
      runs: (runs) => ({
        async *tail(runId, options) {
          let last = 0;
          for await (const event of runs.tail(runId, options)) {
            const behind = (await runs.headSeq(runId)) - event.runSeq;
            if (last > 0 && behind > 3_500) continue;
            last = event.runSeq;
            yield event;
          }
        },
      }),
    }),
  ),
  broken(
    'tail-after-is-inclusive',
    'starts a tail at afterSeq instead of after it',
    'runs/cut-tails-join-while-others-write',
    () => ({
      runs: (runs) => ({
        tail: (runId, options) => runs.tail(runId, { ...options, afterSeq: Math.max(0, (options?.afterSeq ?? 0) - 1) }),
      }),
    }),
  ),
  broken(
    'feed-from-now',
    'resumes a feed after events that were not read yet',
    'runs/cut-feeds-join-while-others-write',
    () => ({
      runs: (runs) => ({
        async *feed(options) {
          const isResumed = options?.cursor !== undefined;
          let skipped = 0;
          for await (const item of runs.feed(options)) {
            if (isResumed && skipped++ === 0) continue;
            yield item;
          }
        },
      }),
    }),
  ),
  broken(
    'updates-from-now',
    'resumes a tail after updates that were not read yet',
    'agents/updates/cut-tails-join',
    () => ({
      agents: (agents) => ({
        async *tailUpdates(sessionId, options): AsyncIterable<StateUpdate> {
          let isFirst = options?.sinceId !== undefined;
          for await (const update of agents.tailUpdates(sessionId, options)) {
            if (!isFirst) yield update;
            isFirst = false;
          }
        },
      }),
    }),
  ),
  broken('scan-shows-deleted', 'scans an index that keeps deleted records', 'kv/watch-then-scan-misses-nothing', () => {
    const deleted = new Map<string, KvRecord | null>();
    return {
      kv: (kv) => ({
        async delete(key, options) {
          deleted.set(key, await kv.get(key));
          return kv.delete(key, options);
        },
        async *scan(prefix, filter, options) {
          yield* kv.scan(prefix, filter, options);
          for (const [key, record] of deleted) if (record) yield { key, record };
        },
      }),
    };
  }),
];

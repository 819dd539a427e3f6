/** Broken reads of runs: times, ids, pages, payloads, snapshots, lists, tails and feeds. */
import type { FeedItem, RunEventRecord, RunSnapshot } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

/** A store that keeps events under changed run ids. */
function renamed(rename: (runId: string) => string): () => Overrides {
  return () => ({
    runs: (runs) => ({
      appendEvent: (event, options) => runs.appendEvent({ ...event, runId: rename(event.runId) }, options),
      headSeq: (runId, options) => runs.headSeq(rename(runId), options),
      fetchEvents: (runId, options) => runs.fetchEvents(rename(runId), options),
    }),
  });
}

/** A store that changes the events it returns. */
function changed(change: (event: RunEventRecord) => RunEventRecord): () => Overrides {
  return () => ({
    runs: (runs) => ({
      fetchEvents: async (runId, options) => (await runs.fetchEvents(runId, options)).map(change),
    }),
  });
}

function withPayload(change: (payload: unknown) => unknown): () => Overrides {
  return changed((event) => ({ ...event, payload: change(event.payload) as Record<string, unknown> }));
}

export const BROKEN_RUN_READS: readonly BrokenStore[] = [
  broken(
    'transaction-time',
    'stamps persistedAt with the start of the transaction',
    'runs/persisted-at-never-decreases',
    () => {
      return changed((event) => ({
        ...event,
        persistedAt: earlier(event.persistedAt, event.runSeq % 3 === 0 ? 50 : 0),
      }))();
    },
  ),
  broken(
    'timestamps-normalised',
    'keeps emittedAt as a timestamp instead of as text',
    'runs/emitted-at-is-exact-text',
    changed((event) => ({ ...event, emittedAt: earlier(event.emittedAt, 0) })),
  ),
  broken(
    'unknown-fields-dropped',
    'drops unknown envelope fields',
    'runs/records-carry-everything-sent',
    changed(({ somethingNew: _, ...event }) => event as RunEventRecord),
  ),
  broken(
    'nul-stripped',
    'strips NUL characters from payloads',
    'runs/payloads-come-back-as-sent',
    withPayload((payload) => JSON.parse(JSON.stringify(payload ?? {}).replaceAll('\\u0000', ''))),
  ),
  broken(
    'keys-reordered',
    'reorders the keys of payloads, as JSONB does',
    'runs/payloads-come-back-as-sent',
    withPayload(sortKeys),
  ),
  broken(
    'surrogates-replaced',
    'stores payloads as UTF-8 text, where lone surrogates become U+FFFD',
    'runs/payloads-come-back-as-sent',
    withPayload((payload) => JSON.parse(JSON.stringify(payload ?? {}).replace(/\\ud[89a-f][0-9a-f]{2}/g, '\ufffd'))),
  ),
  broken(
    'holes-become-null',
    'lets JSON.stringify alter values that JSON cannot represent',
    'runs/unrepresentable-payloads-are-refused',
    () => ({
      runs: (runs) => ({
        async appendEvent(event, options) {
          return runs.appendEvent(
            { ...event, payload: event.payload && JSON.parse(JSON.stringify(event.payload)) },
            options,
          );
        },
      }),
    }),
  ),
  broken(
    'shared-objects',
    'returns the same objects to every reader',
    'runs/stored-events-share-nothing-with-callers',
    () => {
      const shared = new Map<string, RunEventRecord>();
      return changed((event) => {
        const known = shared.get(event.eventId) ?? event;
        shared.set(event.eventId, known);
        return known;
      })();
    },
  ),
  broken(
    'case-insensitive-ids',
    'folds the case of run ids',
    'runs/hostile-run-ids-never-meet',
    renamed((runId) => runId.toLowerCase()),
  ),
  broken(
    'normalised-ids',
    'normalises run ids to NFC',
    'runs/hostile-run-ids-never-meet',
    renamed((runId) => runId.normalize('NFC')),
  ),
  broken(
    'trimmed-ids',
    'compares run ids without trailing spaces, as some collations do',
    'runs/hostile-run-ids-never-meet',
    renamed((runId) => (runId.trimEnd() === '' ? runId : runId.trimEnd())),
  ),
  broken(
    'colon-encoding',
    'encodes : in ids as _',
    'runs/hostile-run-ids-never-meet',
    renamed((runId) => runId.replaceAll(':', '_')),
  ),
  broken('page-boundary', 'skips the first event of every page but the first', 'runs/pages-join-without-loss', () => ({
    runs: (runs) => ({
      fetchEvents: (runId, options) =>
        runs.fetchEvents(runId, { ...options, afterSeq: options?.afterSeq ? options.afterSeq + 1 : 0 }),
    }),
  })),
  broken('inclusive-watermark', 'repeats the event at the watermark', 'runs/watermark-is-exclusive', () => ({
    runs: (runs) => ({
      fetchEvents: (runId, options) =>
        runs.fetchEvents(runId, { ...options, afterSeq: Math.max(0, (options?.afterSeq ?? 0) - 1) }),
    }),
  })),
  broken('clamped-limits', 'clamps limits instead of refusing them', 'runs/bad-read-options-are-refused', () => ({
    runs: (runs) => ({
      fetchEvents: (runId, options) =>
        runs.fetchEvents(runId, {
          ...options,
          limit: Math.min(10_000, Math.max(1, Math.trunc(Number(options?.limit ?? 1_000)) || 1)),
        }),
    }),
  })),
  broken(
    'late-commits',
    'shows an event only after later ones, as sequences taken before the commit do',
    'runs/watermark-reader-misses-nothing',
    () => {
      const looks = new Map<number, number>();
      return {
        runs: (runs) => ({
          async fetchEvents(runId, options) {
            const events = await runs.fetchEvents(runId, options);
            return events.filter(({ runSeq }) => {
              looks.set(runSeq, (looks.get(runSeq) ?? 0) + 1);
              return runSeq % 7 !== 0 || looks.get(runSeq)! > 2;
            });
          },
        }),
      };
    },
  ),
  broken(
    'tenants-leak',
    'finds another tenant’s run when the view has no run with that id',
    'runs/views-see-their-tenant-only',
    {
      runs: (runs, whole) => ({
        async fetchEvents(runId, options) {
          const own = await runs.fetchEvents(runId, options);
          return own.length > 0 ? own : whole.runs.fetchEvents(runId, options);
        },
      }),
    },
  ),
  broken('stale-projection', 'projects from a cached snapshot without newer events', 'runs/project-is-current', () => {
    const cache = new Map<string, RunSnapshot>();
    return {
      runs: (runs) => ({
        async projectSnapshot(runId, options) {
          const snapshot = cache.get(runId) ?? (await runs.projectSnapshot(runId, options));
          cache.set(runId, snapshot);
          return snapshot;
        },
      }),
    };
  }),
  broken(
    'unknown-types-invalid',
    'marks a run inconsistent for unknown event types',
    'runs/unknown-types-change-nothing',
    () => ({
      runs: (runs) => ({
        async projectSnapshot(runId, options) {
          const snapshot = await runs.projectSnapshot(runId, options);
          const events = await runs.fetchEvents(runId);
          return events.some((it) => !/^(Run|Step)/.test(it.eventType))
            ? { ...snapshot, consistency: 'INCONSISTENT' }
            : snapshot;
        },
      }),
    }),
  ),
  broken(
    'no-status-is-every-status',
    'lists runs whose events have set no status under every status',
    'runs/list-filters-by-status',
    () => ({
      runs: (runs) => ({
        async listRuns(options) {
          const page = await runs.listRuns(options);
          if (options?.status === undefined || options.status === 'PENDING') return page;
          const { items } = await runs.listRuns({ ...options, status: 'PENDING' });
          const withoutStatus = items.filter(({ lastEventSeq }) => lastEventSeq === 1);
          return { ...page, items: [...page.items, ...withoutStatus] };
        },
      }),
    }),
  ),
  broken(
    'lists-show-adapters',
    'lists the runs of adapters among the others',
    'runs/list-omits-runs-of-adapters',
    () => ({
      runs: (runs) => ({
        listRuns: (options = {}) =>
          runs.listRuns({ owner: options.labels === undefined ? 'any' : undefined, ...options }),
      }),
    }),
  ),
  broken('count-of-one-page', 'counts the runs of the first page', 'runs/count-what-is-listed', () => ({
    runs: (runs) => ({
      async countRuns(filter) {
        const { items } = await runs.listRuns({ ...filter, limit: 1_000 });
        return { count: items.length, exact: true };
      },
    }),
  })),
  broken('status-filter-ignored', 'lists runs of every status', 'runs/list-filters-by-status', () => ({
    runs: (runs) => ({ listRuns: ({ status: _, ...options } = {}) => runs.listRuns(options) }),
  })),
  broken(
    'tail-misses-one',
    'misses an event stored between reading and waiting',
    'runs/tail-gives-the-past-then-the-present',
    () => ({
      runs: (runs) => ({
        async *tail(runId, options) {
          const stored = await runs.headSeq(runId);
          for await (const event of runs.tail(runId, options)) if (event.runSeq !== stored + 1) yield event;
        },
      }),
    }),
  ),
  broken('feed-reorders', 'yields events of a run out of order in the feed', 'runs/feed-keeps-per-run-order', () => ({
    runs: (runs) => ({
      async *feed(options) {
        const held = new Map<string, FeedItem>();
        for await (const item of runs.feed(options)) {
          const before = held.get(item.event.runId);
          if (before) yield* [item, before];
          if (before) held.delete(item.event.runId);
          else held.set(item.event.runId, item);
        }
      },
    }),
  })),
  broken(
    'verify-trusts',
    'verifies without reading and returns the first head it saw',
    'runs/verify-head-names-the-history',
    () => {
      const heads = new Map<string, string>();
      return {
        runs: (runs) => ({
          async verify(runId, options) {
            const report = await runs.verify(runId, options);
            heads.set(runId, heads.get(runId) ?? report.head);
            return { ...report, head: heads.get(runId)! };
          },
        }),
      };
    },
  ),
];

function earlier(time: string, ms: number): string {
  return new Date(Date.parse(time) - ms).toISOString();
}

/** Sorts keys by length, then by text, at every level. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortKeys(member)]));
}

/** Broken exports, archives and restores: part of the run is lost on the way. */

import { isTidemarkError, type RunPart, type RunStore, TidemarkError } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

/** Changes every exported part. */
function exporting(change: (part: RunPart) => RunPart): (runs: RunStore) => Partial<RunStore> {
  return (runs) => ({
    async *exportRun(runId, options) {
      for await (const part of runs.exportRun(runId, options)) yield change(part);
    },
  });
}

function later(time: string): string {
  return new Date(Date.parse(time) + 1).toISOString();
}

/** Reports a restore as successful although the store refused it. */
function restoringDespite(isIgnored: (error: unknown) => boolean): (runs: RunStore) => Partial<RunStore> {
  return (runs) => ({
    restoreRun: (parts, options) =>
      runs
        .restoreRun(parts, options)
        .catch((error) =>
          isIgnored(error) ? { tenantId: '', runId: '', lastEventSeq: 0, restored: true } : Promise.reject(error),
        ),
  });
}

export const BROKEN_CARRIED_RUNS: readonly BrokenStore[] = [
  broken('exports-no-labels', 'exports a run without its labels', 'runs/export-has-the-whole-run', {
    runs: exporting((part) => ({ ...part, run: { ...part.run, labels: {} } })),
  }),
  broken('exports-links-of-its-own', 'exports wrong chain links', 'runs/export-can-be-checked', {
    runs: exporting((part) => ({ ...part, events: part.events.map((event) => ({ ...event, link: '0'.repeat(64) })) })),
  }),
  broken('writes-the-old-format', 'writes commits of chain format 1 to a new store', 'runs/changed-times-are-found', {
    runs: exporting((part) => ({
      ...part,
      events: part.events.map(({ chainFormat: _, ...event }) => event),
    })),
  }),
  broken('restores-changed-times', 'accepts parts with a changed time', 'runs/changed-times-are-found', {
    runs: restoringDespite((error) => isTidemarkError(error, 'CORRUPT_EVENT')),
  }),
  broken('exports-nothing', 'exports an unknown run as an empty one', 'runs/export-of-nothing', {
    runs: (runs) => ({
      async *exportRun(runId, options) {
        if ((await runs.headSeq(runId, options)) > 0) yield* runs.exportRun(runId, options);
      },
    }),
  }),
  broken('archived-is-empty', 'reads an archived run as an empty one', 'runs/archived-runs-name-their-archive', {
    runs: (runs) => ({
      fetchEvents: (runId, options) =>
        runs
          .fetchEvents(runId, options)
          .catch((error) => (isTidemarkError(error, 'RUN_ARCHIVED') ? [] : Promise.reject(error))),
    }),
  }),
  broken(
    'archives-whatever-is-there',
    'archives a run that has grown since it was read',
    'runs/archive-only-what-was-seen',
    {
      runs: (runs) => ({
        archiveRun: async (runId, options) =>
          runs.archiveRun(runId, { ...options, expectedSeq: options?.expectedSeq && (await runs.headSeq(runId)) }),
      }),
    },
  ),
  broken('archives-after-a-look', 'checks the run first and archives it later', 'runs/archive-or-append', {
    runs: (runs) => ({
      async archiveRun(runId, options) {
        await sleep(5);
        return runs.archiveRun(runId, { ...options, expectedSeq: await runs.headSeq(runId) });
      },
    }),
  }),
  broken('archived-for-ever', 'reports an archive for a run that was restored', 'runs/archived-run-comes-back', () => {
    const locations = new Map<string, string>();
    return {
      runs: (runs) => ({
        archiveLocation: async (runId) => locations.get(runId) ?? null,
        archiveRun(runId, options) {
          locations.set(runId, options.location);
          return runs.archiveRun(runId, options);
        },
      }),
    };
  }),
  broken('restores-as-of-now', 'changes the times of restored events', 'runs/restored-run-is-the-same', {
    runs: (runs) => ({
      async restoreRun(parts, options) {
        const changed: RunPart[] = [];
        for await (const part of parts) {
          const { createdAt, updatedAt } = part.run;
          const events = part.events.map((event) => ({ ...event, persistedAt: later(event.persistedAt) }));
          changed.push({
            ...part,
            events,
            run: { ...part.run, createdAt: later(createdAt), updatedAt: later(updatedAt) },
          });
        }
        return runs.restoreRun(changed, options);
      },
    }),
  }),
  broken('exports-redacted-payloads', 'exports redacted payloads', 'runs/restored-and-redacted', {
    runs: exporting((part) => ({
      ...part,
      events: part.events.map((event) => (event.redaction ? { ...event, payload: '{"n":2}' } : event)),
    })),
  }),
  broken(
    'forgets-keys-of-restored-runs',
    'forgets the idempotency keys of a restored run',
    'runs/restored-behind-a-writer',
    () => {
      const restored = new Set<string>();
      return {
        runs: (runs) => ({
          async restoreRun(parts, options) {
            const result = await runs.restoreRun(parts, options);
            restored.add(result.runId);
            return result;
          },
          appendEvent(event, options) {
            if (!restored.has(event.runId)) return runs.appendEvent(event, options);
            return runs.appendEvent({ ...event, idempotencyKey: crypto.randomUUID() }, options);
          },
        }),
      };
    },
  ),
  broken(
    'restores-anew-each-time',
    'reports a run as restored that already exists',
    'runs/restore-again-changes-nothing',
    {
      runs: (runs) => ({
        restoreRun: async (parts, options) => ({ ...(await runs.restoreRun(parts, options)), restored: true }),
      }),
    },
  ),
  broken('takes-forged-parts', 'accepts parts without checking their links', 'runs/restore-refuses-forgeries', {
    runs: restoringDespite((error) => isTidemarkError(error, 'CORRUPT_EVENT')),
  }),
  broken('restores-any-size', 'accepts restored payloads of any size', 'runs/restored-payloads-obey-the-limit', {
    runs: restoringDespite((error) => isTidemarkError(error, 'PAYLOAD_TOO_LARGE')),
  }),
  broken('restores-the-future', 'accepts restored events with any time', 'runs/restored-times-are-past', {
    runs: restoringDespite((error) => isTidemarkError(error, 'INVALID_ARGUMENT') && error.field === 'persistedAt'),
  }),
  broken(
    'restores-what-nobody-reads',
    'restores payloads that it cannot decode',
    'runs/restored-payloads-can-be-read',
    {
      runs: (runs) => ({ restoreRun: (parts, options) => runs.restoreRun(parts, { ...options, keepEncoded: true }) }),
    },
  ),
  broken('half-a-run', 'shows a run that is being restored', 'runs/restore-is-whole-or-hidden', {
    runs: (runs) => ({
      headSeq: (runId, options) =>
        runs
          .headSeq(runId, options)
          .catch((error) => (/being restored/.test(error.message) ? 1_000 : Promise.reject(error))),
    }),
  }),
  broken('restores-for-ever', 'cannot abandon a restore', 'runs/restore-given-up', {
    runs: (runs) => ({
      async deleteRun(runId, options) {
        const error = await runs.headSeq(runId, options).catch((reason) => reason);
        return isTidemarkError(error, 'RUN_ARCHIVED') ? false : runs.deleteRun(runId, options);
      },
    }),
  }),
  broken(
    'finds-the-abandoned',
    'counts a tenant that abandoned a restore among those with a run of this id',
    'runs/deletion-frees-the-id',
    () => {
      const abandoned = new Set<string>();
      return {
        runs: (runs, whole) => ({
          async deleteRun(runId, options) {
            const error = await runs.headSeq(runId, options).catch((reason) => reason);
            if (isTidemarkError(error, 'RUN_ARCHIVED')) abandoned.add(runId);
            return runs.deleteRun(runId, options);
          },
          async headSeq(runId, options) {
            if (runs === whole.runs && abandoned.has(runId))
              throw new TidemarkError('AMBIGUOUS_RUN', 'Several tenants have this run');
            return runs.headSeq(runId, options);
          },
        }),
      };
    },
  ),
  broken(
    'restores-over-anything',
    'treats a run that has grown as already restored',
    'runs/restore-spares-other-runs',
    {
      runs: (runs) => ({
        restoreRun: (parts, options) =>
          runs
            .restoreRun(parts, options)
            .catch((error) =>
              isTidemarkError(error, 'CONFLICT')
                ? { tenantId: '', runId: '', lastEventSeq: 0, restored: false }
                : Promise.reject(error),
            ),
      }),
    },
  ),
  broken('feeds-once', 'never yields an event twice in the feed', 'runs/restored-events-pass-the-feed', () => {
    const fed = new Set<string>();
    return {
      runs: (runs) => ({
        async feedPage(options) {
          const page = await runs.feedPage(options);
          const items = page.items.filter(({ event }) => !fed.has(event.eventId));
          for (const { event } of page.items) fed.add(event.eventId);
          return { ...page, items };
        },
      }),
    };
  }),
];

/** Broken expiry: runs that outlive it, return after it, or are removed with what nobody has read. */
import { EXPIRY_LABEL, isTidemarkError, type RunEventInput, type RunStore } from '@tidemark/core';
import { type BrokenStore, broken, brokenRuns } from './wrap.ts';

/** Changes the label that holds the expiry. */
function relabelled(event: RunEventInput, change: (expires: string) => string | undefined): RunEventInput {
  const { [EXPIRY_LABEL]: expires, ...labels } = event.labels ?? {};
  const changed = expires === undefined ? undefined : change(expires);
  return { ...event, labels: changed === undefined ? labels : { ...labels, [EXPIRY_LABEL]: changed } };
}

const appending = (change: (expires: string) => string | undefined) => (runs: RunStore) => ({
  appendEvents: (events: readonly RunEventInput[], options?: object) =>
    runs.appendEvents(
      events.map((event) => relabelled(event, change)),
      options,
    ),
});

export const BROKEN_EXPIRY: readonly BrokenStore[] = [
  broken('counts-the-expired', 'counts runs that have expired', 'runs/expired-run-is-unknown', () => {
    const known = new Set<string>();
    return {
      runs: (runs) => ({
        async appendEvents(events, options) {
          for (const { runId } of events) known.add(runId);
          return runs.appendEvents(events, options);
        },
        countRuns: async () => ({ count: known.size, exact: true }),
      }),
    };
  }),
  broken('expires-everything', 'lets runs expire that have not ended', 'runs/expiry-spares-runs-that-have-not-ended', {
    runs: appending((expires) => `${expires.split(' ')[0]} any`),
  }),
  broken('expiry-stands-still', 'counts the expiry from the first event', 'runs/every-event-moves-the-expiry', {
    runs: (runs) => ({
      async listRuns(options) {
        const page = await runs.listRuns(options);
        const items = page.items.map((run) => {
          if (run.expiresAt === undefined) return run;
          const moved = Date.parse(run.updatedAt) - Date.parse(run.createdAt);
          return { ...run, expiresAt: new Date(Date.parse(run.expiresAt) - moved).toISOString() };
        });
        return { ...page, items };
      },
    }),
  }),
  broken('revived-by-appends', 'begins an expired run again with the next event', 'runs/expired-run-never-returns', {
    runs: (runs) => ({
      appendEvent: (event, options) =>
        runs.appendEvent(event, options).catch((error: unknown) => {
          if (!isTidemarkError(error, 'RUN_DELETED')) throw error;
          return runs.appendEvent({ ...event, labels: { [EXPIRY_LABEL]: '40ms any' } }, { life: 'new' });
        }),
    }),
  }),
  broken('sweeps-past-its-limit', 'deletes all expired runs in one step', 'runs/delete-expired-leaves-tombstones', {
    runs: (runs) => ({ deleteExpired: ({ limit: _, ...options } = {}) => runs.deleteExpired(options) }),
  }),
  brokenRuns(
    'sweeps-without-a-fence',
    'removes expired runs as they are now',
    'runs/expiry-sweep-is-fenced',
    (runs) => ({
      remove: (run, tombstone, call) =>
        runs.remove(run, tombstone, Object.assign(call, { expectedSeq: undefined, expectedRewrites: undefined })),
    }),
  ),
  broken('ends-with-its-expiry', 'refuses the next life of an expired run', 'runs/new-life-after-expiry', {
    runs: (runs) => ({
      async appendEvent(event, options) {
        if (options?.life === 'new') await runs.appendEvent(event);
        return runs.appendEvent(event, options);
      },
    }),
  }),
  broken('restores-the-expired', 'restores a run after its expiry', 'runs/expired-run-is-not-restored', {
    runs: (runs) => ({
      restoreRun: (parts, options) =>
        runs.restoreRun(parts, options).catch((error: unknown) => {
          if (!isTidemarkError(error, 'RUN_DELETED')) throw error;
          return { tenantId: '', runId: '', lastEventSeq: 2, restored: true };
        }),
    }),
  }),
  broken('ignores-bad-expiry', 'stores runs whose expiry it does not understand', 'runs/expiry-is-checked', {
    runs: appending((expires) => (/^\d+(ms|s|m|h|d)( any)?$/.test(expires) ? expires : undefined)),
  }),
];

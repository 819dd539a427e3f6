/** Stores with faults at the edges of batches, lists and times. */
import { isTidemarkError, type RunEventInput, type RunStatus } from '@tidemark/core';
import { encodeCursor } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

const STATUS_OF: Record<string, RunStatus> = {
  RunStarted: 'RUNNING',
  RunPaused: 'PAUSED',
  RunResumed: 'RUNNING',
  RunCancelled: 'CANCELLED',
};

/** Returns the event with an existing time. */
function corrected(event: RunEventInput): RunEventInput {
  const { emittedAt } = event;
  if (typeof emittedAt !== 'string') return event;
  return { ...event, emittedAt: emittedAt.replace(':60Z', ':59Z').replace('1900-02-29', '1900-03-01') };
}

export const BROKEN_RUN_EDGES: readonly BrokenStore[] = [
  broken(
    'status-of-what-was-sent',
    'derives the status from the order of a batch',
    'runs/batch-partly-stored-keeps-the-status',
    () => {
      const statuses = new Map<string, RunStatus>();
      return {
        runs: (runs) => ({
          async appendEvents(events, options) {
            const results = await runs.appendEvents(events, options);
            for (const { runId, eventType } of events) {
              const status = STATUS_OF[eventType];
              if (status) statuses.set(runId, status);
            }
            return results;
          },
          async listRuns(options) {
            const page = await runs.listRuns(options);
            return { ...page, items: page.items.map((run) => ({ ...run, status: statuses.get(run.runId)! })) };
          },
        }),
      };
    },
  ),
  broken(
    'batch-forgets-what-it-wrote',
    'writes a batch run by run and throws the first refusal',
    'runs/batch-partly-refused-is-unknown',
    {
      runs: (runs) => ({
        async appendEvents(events, options) {
          const results = [];
          for (const event of events) results.push(await runs.appendEvent(event, options));
          return results;
        },
      }),
    },
  ),
  broken('next-after-the-last', 'returns a next cursor after every full page', 'runs/list-ends-with-a-full-page', {
    runs: (runs) => ({
      async listRuns(options) {
        const page = await runs.listRuns(options);
        const last = page.items.at(-1);
        if (!last || page.items.length !== options?.limit) return page;
        return { ...page, next: encodeCursor([Date.parse(last.createdAt), last.tenantId, last.runId]) };
      },
    }),
  }),
  broken('cursors-are-hints', 'restarts a list at an unknown cursor', 'runs/cursors-of-other-lists', {
    runs: (runs) => ({
      listRuns: (options) =>
        runs.listRuns(options).catch((error) => {
          if (!isTidemarkError(error, 'INVALID_ARGUMENT') || options?.cursor === undefined) throw error;
          const { cursor: _, ...rest } = options;
          return runs.listRuns(rest);
        }),
    }),
  }),
  broken('corrects-times', 'replaces times that do not exist by nearby ones', 'runs/emitted-at-is-rfc3339-utc', {
    runs: (runs) => ({ appendEvent: (event, options) => runs.appendEvent(corrected(event), options) }),
  }),
  broken('marks-what-is-not-there', 'marks unknown runs as stale', 'runs/stale-until-refreshed', {
    runs: (runs) => ({
      markStale: async (runId, options) =>
        (await runs.markStale(runId, options)) || (await runs.headSeq(runId, options)) === 0,
    }),
  }),
  broken('verify-without-the-head', 'verifies events without the head', 'runs/verify-compares-the-head', {
    runs: (runs) => ({
      verify: async (runId, options) => ({ ...(await runs.verify(runId, options)), ok: true, problem: undefined }),
    }),
  }),
  broken('verify-by-the-latest-head', 'compares with a head read after the events', 'runs/verify-beside-appends', {
    runs: (runs) => ({
      async verify(runId, options) {
        const { problem: _, ...report } = await runs.verify(runId, options);
        const head = await runs.headSeq(runId, options);
        if (head === report.events) return report;
        return { ...report, ok: false, problem: { runSeq: head, reason: 'the event is missing' } };
      },
    }),
  }),
];

/** Broken stored snapshots, which are used or replaced without checking that they are unchanged. */
import { type BrokenStore, broken, brokenRuns } from './wrap.ts';

export const BROKEN_BOUND_SNAPSHOTS: readonly BrokenStore[] = [
  broken(
    'trusts-any-snapshot',
    'returns a stored snapshot without checking it',
    'runs/changed-snapshots-are-not-used',
    {
      runs: (runs) => ({
        async getSnapshot(runId, options) {
          const snapshot = await runs.getSnapshot(runId, options);
          return snapshot && { ...snapshot, status: 'FAILED' };
        },
      }),
    },
  ),
  brokenRuns(
    'snapshots-as-json-values',
    'stores snapshots as parsed JSON, so that their text changes',
    'runs/refresh-folds-what-is-new',
    (engine) => ({
      async loadSnapshot(run, call) {
        const stored = await engine.loadSnapshot(run, call);
        return stored && { ...stored, body: JSON.stringify(JSON.parse(stored.body), null, 1) };
      },
    }),
  ),
  broken('verify-without-the-snapshot', 'verifies events only', 'runs/verify-compares-the-snapshot', {
    runs: (runs) => ({
      async verify(runId, options) {
        const { snapshot: _, ...report } = await runs.verify(runId, options);
        return { ...report, ok: report.problem === undefined };
      },
    }),
  }),
  broken('full-is-ignored', 'ignores the full option of a refresh', 'runs/full-refresh-starts-over', {
    runs: (runs) => ({
      refreshSnapshot: (runId, { full: _, ...options } = {}) => runs.refreshSnapshot(runId, options),
    }),
  }),
];

/** Broken rewrites: a late writer or an older copy brings back redacted or replaced data. */
import type { RunSnapshot } from '@tidemark/core';
import type { RunKey, StoredSnapshot } from '@tidemark/core/engine';
import { all } from '../cases/iterate.ts';
import { type BrokenStore, broken, brokenRuns } from './wrap.ts';

const keyOf = ({ tenantId, runId }: RunKey) => `${tenantId}\0${runId}`;

export const BROKEN_REWRITES: readonly BrokenStore[] = [
  brokenRuns(
    'last-snapshot-wins',
    'lets the last stored snapshot win',
    'runs/late-snapshot-keeps-the-newer',
    (engine) => {
      const stored = new Map<string, StoredSnapshot>();
      return {
        loadSnapshot: async (run) => stored.get(keyOf(run)) ?? null,
        saveSnapshot: async (run, snapshot) => stored.set(keyOf(run), snapshot).size > 0,
        dropSnapshot: async (run) => void stored.delete(keyOf(run)),
        remove: (run, tombstone, call) => {
          stored.delete(keyOf(run));
          return engine.remove(run, tombstone, call);
        },
      };
    },
  ),
  brokenRuns(
    'snapshots-forget-their-origin',
    'stores a snapshot without checking the one it was folded from',
    'runs/snapshot-replaces-the-one-it-names',
    (engine) => ({ saveSnapshot: (run, snapshot, call) => engine.saveSnapshot(run, snapshot, call) }),
  ),
  broken('snapshots-for-ever', 'keeps a snapshot despite a redaction', 'runs/late-snapshot-knows-no-redaction', () => {
    const kept = new Map<string, RunSnapshot>();
    return {
      runs: (runs) => ({
        async redactEvent(runId, runSeq, options) {
          kept.set(runId, await runs.projectSnapshot(runId, { tenantId: options.tenantId }));
          return runs.redactEvent(runId, runSeq, options);
        },
        getSnapshot: async (runId, options) => kept.get(runId) ?? runs.getSnapshot(runId, options),
      }),
    };
  }),
  brokenRuns(
    'drops-the-run-with-its-snapshot',
    'removes the run together with a late snapshot',
    'runs/late-snapshot-of-a-run-that-is-gone',
    (engine) => ({
      dropSnapshot: async (run, _, call) => void (await engine.remove(run, { kind: 'deleted', at: 0 }, call)),
    }),
  ),
  broken(
    'restores-leave-no-trace',
    'keeps the snapshot of the history that a restore replaced',
    'runs/late-snapshot-of-another-history',
    () => {
      const kept = new Map<string, RunSnapshot>();
      return {
        runs: (runs) => ({
          async deleteRun(runId, options) {
            kept.set(runId, await runs.projectSnapshot(runId, { tenantId: options?.tenantId }));
            return runs.deleteRun(runId, options);
          },
          projectSnapshot: async (runId, options) => kept.get(runId) ?? runs.projectSnapshot(runId, options),
        }),
      };
    },
  ),
  broken('tidies-archived-runs', 'removes an archived run after it was restored', 'runs/restored-runs-stay', () => {
    const archived = new Set<string>();
    return {
      runs: (runs) => ({
        archiveRun(runId, options) {
          archived.add(runId);
          return runs.archiveRun(runId, options);
        },
        async refreshSnapshot(runId, options) {
          const refreshed = await runs.refreshSnapshot(runId, options);
          if (archived.delete(runId)) await runs.deleteRun(runId, options);
          return refreshed;
        },
      }),
    };
  }),
  broken('position-stands-still', "does not count redactions in a run's position", 'runs/position-tells-of-changes', {
    runs: (runs) => ({
      async position(runId, options) {
        const position = await runs.position(runId, options);
        return position && { ...position, rewrites: 0 };
      },
    }),
  }),
  broken('archives-outdated-copies', 'archives a run with an outdated copy', 'runs/archive-only-what-was-redacted', {
    runs: (runs) => ({
      archiveRun: (runId, { expectedRewrites: _, ...options }) => runs.archiveRun(runId, options),
    }),
  }),
  broken(
    'states-outlive-redactions',
    'keeps projection states despite a redaction',
    'runs/redaction-reaches-projections',
    {
      runs: (runs, whole) => ({
        async redactEvent(runId, runSeq, options) {
          const { tenantId } = (await runs.position(runId, options))!;
          const { kv } = whole.forTenant(tenantId);
          const states = await all(kv.scan('tidemark.projections.'));
          const isThere = await runs.redactEvent(runId, runSeq, options);
          const { rewrites } = (await runs.position(runId, options))!;
          for (const { key, record } of states) await kv.put(key, { ...record.fields, rewrites });
          return isThere;
        },
      }),
    },
  ),
  broken(
    'links-to-the-head-it-knew',
    'continues a history that was replaced',
    'runs/other-history-behind-a-writer',
    () => {
      const restored = new Set<string>();
      return {
        runs: (runs) => ({
          async restoreRun(parts, options) {
            const result = await runs.restoreRun(parts, options);
            restored.add(result.runId);
            return result;
          },
          async verify(runId, options) {
            const report = await runs.verify(runId, options);
            const problem = { runSeq: report.events, reason: 'its content does not match its link' };
            return restored.has(runId) ? { ...report, ok: false, problem } : report;
          },
        }),
      };
    },
  ),
];

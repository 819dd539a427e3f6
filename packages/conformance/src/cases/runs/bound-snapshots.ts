/** Stored snapshots that were changed: readers do not use them, verify reports them, a full refresh replaces them (RUN-14). */
import type { RunStore } from '@tidemark/core';
import type { RunEngine } from '@tidemark/core/engine';
import { expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendTypes } from './events.ts';

/** The text of a failed run; where a codec hides the status, a text with another character in its data. */
function changed(body: string): string {
  const failed = body.replace('"status":"RUNNING"', '"status":"FAILED"');
  if (failed !== body) return failed;
  const at = Math.floor(body.length * 0.75);
  return body.slice(0, at) + (body[at] === 'A' ? 'B' : 'A') + body.slice(at + 1);
}

/** A client whose engine returns every stored snapshot as that of a failed run; `null` where the kit cannot reach the engine. */
function withChangedSnapshots(bench: Bench): RunStore | null {
  const client = bench.withRuns((engine) => ({
    async loadSnapshot(run, call) {
      const stored = await engine.loadSnapshot(run, call);
      return stored && { ...stored, body: changed(stored.body) };
    },
  }));
  return client?.runs ?? null;
}

/** The run engine under the store; `null` where the kit cannot reach it. */
function engineOf(bench: Bench): RunEngine | null {
  let found: RunEngine | null = null;
  bench.withRuns((engine) => {
    found = engine;
    return {};
  });
  return found;
}

async function runningRun(bench: Bench): Promise<string> {
  const runId = bench.id('run');
  await appendTypes(bench, runId, 'RunStarted', 'A', 'B');
  await bench.tenant.runs.refreshSnapshot(runId);
  return runId;
}

export const BOUND_SNAPSHOT_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/changed-snapshots-are-not-used',
    title: 'a stored snapshot that was changed counts as absent: readers get what the events make',
    proves: ['RUN-14', 'RUN-13'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      expectEqual((await runs.getSnapshot(runId))?.status, 'RUNNING', 'the stored snapshot is that of the events');
      const changed = withChangedSnapshots(bench);
      if (!changed) return;
      expectEqual(
        (await changed.getSnapshot(runId))?.status,
        'RUNNING',
        'a stored snapshot that was changed is not read',
      );
      expectEqual((await changed.projectSnapshot(runId)).status, 'RUNNING', 'nor folded on');
      expectEqual((await changed.projectSnapshot(runId, { atSeq: 3 })).status, 'RUNNING', 'nor used for the past');
      const { snapshot, folded } = await changed.refreshSnapshot(runId);
      expectEqual([snapshot.status, folded], ['RUNNING', 3], 'a refresh folds from the first event');
    },
  }),
  runsCase({
    id: 'runs/verify-compares-the-snapshot',
    title: 'verify compares the stored snapshot with the events, reports a difference and replaces the snapshot',
    proves: ['RUN-14', 'RUN-17'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      const healthy = await runs.verify(runId);
      expectEqual(
        [healthy.ok, healthy.snapshot],
        [true, { runSeq: 3, ok: true }],
        'a snapshot nobody touched is right',
      );
      const report = await withChangedSnapshots(bench)?.verify(runId);
      if (!report) return;
      const { ok, problem, snapshot } = report;
      expectEqual([ok, problem], [false, undefined], 'a wrong snapshot is a problem, though the events are whole');
      expectEqual([snapshot?.runSeq, snapshot?.ok, snapshot?.resynced], [3, false, true], 'the snapshot is replaced');
      expectEqual((await runs.verify(runId)).ok, true, 'and then all is well');
      const unread = bench.id('run');
      await appendTypes(bench, unread, 'RunStarted');
      expectEqual((await runs.verify(unread)).snapshot, undefined, 'where none is stored there is nothing to compare');
    },
  }),
  runsCase({
    id: 'runs/snapshot-replaces-the-one-it-names',
    title:
      'a snapshot is stored only in place of the one it was folded from: what came of a dropped one does not come back',
    proves: ['RUN-14', 'RUN-13'],
    async run(bench) {
      const runId = await runningRun(bench);
      const engine = engineOf(bench);
      if (!engine) return;
      const run = { tenantId: bench.tenantId, runId };
      const before = (await engine.loadSnapshot(run, {}))!;
      const wrong = { ...before, status: 'FAILED' as const, body: changed(before.body) };
      const save = (over?: typeof before | null) => engine.saveSnapshot(run, wrong, {}, over);
      const isAsBefore = async () => (await engine.loadSnapshot(run, {}))?.body === before.body;
      expectEqual(await save(null), false, 'where one is stored, none is stored that was folded without it');
      expectEqual(await save({ ...before, body: wrong.body }), false, 'nor one that was folded from another text');
      expectEqual(await save({ ...before, lastEventSeq: 2 }), false, 'or from another sequence');
      expectEqual(await isAsBefore(), true, 'the stored one stays');
      expectEqual(await save(before), true, 'in place of the one it was folded from it is stored');
      expectEqual((await engine.loadSnapshot(run, {}))?.body, wrong.body, 'and read');
      await engine.dropSnapshot(run, before.rewrites, {});
      expectEqual(await save(before), false, 'what was folded from a dropped one is not stored');
      expectEqual(await engine.loadSnapshot(run, {}), null, 'none is stored');
      expectEqual(await save(null), true, 'what was folded without one is');
      await engine.dropSnapshot(run, before.rewrites, {});
    },
  }),
  runsCase({
    id: 'runs/full-refresh-starts-over',
    title: 'a full refresh folds a run from its first event, whatever is stored',
    proves: ['RUN-14'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      expectEqual((await runs.refreshSnapshot(runId)).folded, 0, 'there is nothing new to fold');
      const { folded, snapshot } = await runs.refreshSnapshot(runId, { full: true });
      expectEqual([folded, snapshot.status, snapshot.lastEventSeq], [3, 'RUNNING', 3], 'all is folded again');
      expectEqual((await runs.refreshSnapshot(runId)).folded, 0, 'and stored');
    },
  }),
];

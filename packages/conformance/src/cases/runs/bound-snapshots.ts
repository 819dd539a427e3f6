/**
 * Stored snapshots that were changed: readers ignore them, verify reports them, a full refresh replaces them (RUN-14).
 */
import type { RunStore } from '@tidemark/core';
import type { RunEngine } from '@tidemark/core/engine';
import { expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendTypes } from './events.ts';

/** Changes the status in a snapshot's text to failed, or another character if a codec hides the status. */
function changed(body: string): string {
  const failed = body.replace('"status":"RUNNING"', '"status":"FAILED"');
  if (failed !== body) return failed;
  const at = Math.floor(body.length * 0.75);
  return body.slice(0, at) + (body[at] === 'A' ? 'B' : 'A') + body.slice(at + 1);
}

/**
 * Returns a client whose engine reports every stored snapshot as failed, or `null` if the kit cannot reach the engine.
 */
function withChangedSnapshots(bench: Bench): RunStore | null {
  const client = bench.withRuns((engine) => ({
    async loadSnapshot(run, call) {
      const stored = await engine.loadSnapshot(run, call);
      return stored && { ...stored, body: changed(stored.body) };
    },
  }));
  return client?.runs ?? null;
}

/** Returns the run engine below the store, or `null` if the kit cannot reach it. */
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
    title: 'a stored snapshot that was changed counts as absent: readers get the fold of the events',
    proves: ['RUN-14', 'RUN-13'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      expectEqual((await runs.getSnapshot(runId))?.status, 'RUNNING', 'the stored snapshot is the fold of the events');
      const changed = withChangedSnapshots(bench);
      if (!changed) return;
      expectEqual(
        (await changed.getSnapshot(runId))?.status,
        'RUNNING',
        'a stored snapshot that was changed is not read',
      );
      expectEqual((await changed.projectSnapshot(runId)).status, 'RUNNING', 'a changed snapshot is not folded further');
      expectEqual(
        (await changed.projectSnapshot(runId, { atSeq: 3 })).status,
        'RUNNING',
        'a changed snapshot is not used for past states',
      );
      const { snapshot, folded } = await changed.refreshSnapshot(runId);
      expectEqual([snapshot.status, folded], ['RUNNING', 3], 'a refresh folds from the first event');
    },
  }),
  runsCase({
    id: 'runs/verify-compares-the-snapshot',
    title: 'verify compares the stored snapshot with the events, reports a difference and replaces it',
    proves: ['RUN-14', 'RUN-17'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      const healthy = await runs.verify(runId);
      expectEqual([healthy.ok, healthy.snapshot], [true, { runSeq: 3, ok: true }], 'an unchanged snapshot verifies');
      const report = await withChangedSnapshots(bench)?.verify(runId);
      if (!report) return;
      const { ok, problem, snapshot } = report;
      expectEqual([ok, problem], [false, undefined], 'a wrong snapshot is a problem, although the events are intact');
      expectEqual([snapshot?.runSeq, snapshot?.ok, snapshot?.resynced], [3, false, true], 'the snapshot is replaced');
      expectEqual((await runs.verify(runId)).ok, true, 'verify then reports no problem');
      const unread = bench.id('run');
      await appendTypes(bench, unread, 'RunStarted');
      expectEqual(
        (await runs.verify(unread)).snapshot,
        undefined,
        'without a stored snapshot there is nothing to compare',
      );
    },
  }),
  runsCase({
    id: 'runs/snapshot-replaces-the-one-it-names',
    title: 'a snapshot replaces only the one it was folded from, so that data of a removed snapshot does not come back',
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
      expectEqual(await save(null), false, 'a snapshot folded without the stored one is not saved over it');
      expectEqual(
        await save({ ...before, body: wrong.body }),
        false,
        'a snapshot folded from another text is not saved',
      );
      expectEqual(
        await save({ ...before, lastEventSeq: 2 }),
        false,
        'a snapshot folded from another sequence is not saved',
      );
      expectEqual(await isAsBefore(), true, 'the stored snapshot stays');
      expectEqual(await save(before), true, 'a snapshot folded from the stored one replaces it');
      expectEqual((await engine.loadSnapshot(run, {}))?.body, wrong.body, 'the new snapshot is read');
      await engine.dropSnapshot(run, before.rewrites, {});
      expectEqual(await save(before), false, 'a snapshot folded from a dropped one is not saved');
      expectEqual(await engine.loadSnapshot(run, {}), null, 'no snapshot is stored');
      expectEqual(await save(null), true, 'a snapshot folded without a stored one is saved');
      await engine.dropSnapshot(run, before.rewrites, {});
    },
  }),
  runsCase({
    id: 'runs/full-refresh-starts-over',
    title: 'a full refresh folds a run from its first event and ignores the stored snapshot',
    proves: ['RUN-14'],
    async run(bench) {
      const runId = await runningRun(bench);
      const { runs } = bench.tenant;
      expectEqual((await runs.refreshSnapshot(runId)).folded, 0, 'there are no new events to fold');
      const { folded, snapshot } = await runs.refreshSnapshot(runId, { full: true });
      expectEqual([folded, snapshot.status, snapshot.lastEventSeq], [3, 'RUNNING', 3], 'all events are folded again');
      expectEqual((await runs.refreshSnapshot(runId)).folded, 0, 'the snapshot is stored');
    },
  }),
];

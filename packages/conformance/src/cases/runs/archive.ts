/** Archived runs: removed from the store, with the location of their archive, and never removed by mistake (RUN-15). */
import { isTidemarkError } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { archive, carriedRun, exported, seenOf } from './carried-runs.ts';
import { runEvent } from './events.ts';

export const ARCHIVE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/archived-runs-name-their-archive',
    title: 'reads of an archived run and appends to it fail with RUN_ARCHIVED and the archive’s location',
    proves: ['RUN-15', '001 §2.3'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      expectEqual(await runs.archiveLocation(runId), null, 'a live run has no archive');
      await archive(bench.tenant, runId, 'file:somewhere');
      expectEqual(await runs.archiveLocation(runId), 'file:somewhere', 'archiveLocation returns the location');
      const calls: Record<string, () => Promise<unknown>> = {
        fetchEvents: () => runs.fetchEvents(runId),
        readEvents: () => all(runs.readEvents(runId)),
        headSeq: () => runs.headSeq(runId),
        getSnapshot: () => runs.getSnapshot(runId),
        projectSnapshot: () => runs.projectSnapshot(runId),
        refreshSnapshot: () => runs.refreshSnapshot(runId),
        verify: () => runs.verify(runId),
        exportRun: () => all(runs.exportRun(runId)),
        appendEvent: () => runs.appendEvent(runEvent(bench, { runId })),
        'a fenced append': () => runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 0 }),
        forkRun: () => runs.forkRun(runId, { toRunId: bench.id('fork') }),
      };
      for (const [name, call] of Object.entries(calls)) {
        const { archive: place } = await expectCode('RUN_ARCHIVED', name, call);
        expectEqual(place, 'file:somewhere', `${name} names the archive`);
      }
      expectEqual((await runs.listRuns()).items, [], 'it is not listed');
      expectEqual(
        await bench.store.runs.archiveLocation(runId),
        'file:somewhere',
        'the operator finds it without naming the tenant',
      );
      await expectCode('RUN_ARCHIVED', 'the operator gets RUN_ARCHIVED without naming the tenant', () =>
        bench.store.runs.fetchEvents(runId),
      );
    },
  }),
  runsCase({
    id: 'runs/archive-only-what-was-seen',
    title: 'a run with events newer than the exported copy is not archived',
    proves: ['RUN-15', 'RUN-7'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const atSeq = await runs.headSeq(runId);
      await runs.appendEvent(runEvent(bench, { runId }));
      const before = await seenOf(bench.tenant, runId);
      const error = await expectCode('SEQ_CONFLICT', 'the run has one more event', () =>
        runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq }),
      );
      expectEqual(error.current, atSeq + 1, 'the error carries the current sequence');
      expectEqual(await seenOf(bench.tenant, runId), before, 'nothing has changed');
      expectEqual(await runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq + 1 }), true, 'the run is archived');
      expectEqual(
        await runs.archiveRun(runId, { location: 'y', expectedSeq: atSeq + 1 }),
        false,
        'a second archiving does nothing',
      );
      expectEqual(await runs.archiveLocation(runId), 'x', 'the location stays the same');
      expectEqual(
        await runs.archiveRun(bench.id('run'), { location: 'x', expectedSeq: 1 }),
        false,
        'an unknown run cannot be archived',
      );
      await expectCode('INVALID_ARGUMENT', 'expectedSeq is required', () =>
        runs.archiveRun(runId, { location: 'x' } as never),
      );
    },
  }),
  runsCase({
    id: 'runs/archive-or-append',
    title: 'if an append and archiving compete, one of them is rejected and no event is lost',
    proves: ['RUN-15', 'RUN-7'],
    async run(bench) {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      for (let round = 0; round < 10; round++) {
        const runId = bench.id('run');
        await bench.tenant.runs.appendEvent(runEvent(bench, { runId }));
        const [archived, appended] = await Promise.all([
          bench.tenant.runs
            .archiveRun(runId, { location: 'x', expectedSeq: 1 })
            .catch((error) => (isTidemarkError(error, 'SEQ_CONFLICT') ? false : Promise.reject(error))),
          peer.runs
            .appendEvent(runEvent(bench, { runId }))
            .then((result) => result.persisted)
            .catch((error) => (isTidemarkError(error, 'RUN_ARCHIVED') ? false : Promise.reject(error))),
        ]);
        expect(archived !== appended, `exactly one of archiving and append succeeds: ${archived}, ${appended}`);
        if (appended) expectEqual(await bench.tenant.runs.headSeq(runId), 2, 'the appended event is stored');
      }
    },
  }),
  runsCase({
    id: 'runs/archived-run-comes-back',
    title: 'an archived run that is restored is live again and no longer archived',
    proves: ['RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      expectEqual((await runs.restoreRun(parts)).restored, true, 'the run was restored');
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
      expectEqual(await runs.archiveLocation(runId), null, 'the run has no archive');
      expectEqual((await runs.appendEvent(runEvent(bench, { runId }))).runSeq, before.head + 1, 'the run continues');
    },
  }),
];

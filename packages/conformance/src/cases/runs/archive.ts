/** Archived runs: gone from the store, known to lie elsewhere, never by mistake (RUN-15). */
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
    title: 'reads of an archived run, and appends to it, are RUN_ARCHIVED and say where it lies',
    proves: ['RUN-15', '001 §2.3'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      expectEqual(await runs.archiveLocation(runId), null, 'a live run lies nowhere else');
      await archive(bench.tenant, runId, 'file:somewhere');
      expectEqual(await runs.archiveLocation(runId), 'file:somewhere', 'the place is told');
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
        'the operator need not name the tenant',
      );
      await expectCode('RUN_ARCHIVED', 'nor to hear of it', () => bench.store.runs.fetchEvents(runId));
    },
  }),
  runsCase({
    id: 'runs/archive-only-what-was-seen',
    title: 'a run that has grown since it was read is not archived',
    proves: ['RUN-15', 'RUN-7'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const atSeq = await runs.headSeq(runId);
      await runs.appendEvent(runEvent(bench, { runId }));
      const before = await seenOf(bench.tenant, runId);
      const error = await expectCode('SEQ_CONFLICT', 'it has one event more', () =>
        runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq }),
      );
      expectEqual(error.current, atSeq + 1, 'the error says where it is');
      expectEqual(await seenOf(bench.tenant, runId), before, 'nothing has changed');
      expectEqual(await runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq + 1 }), true, 'now it is archived');
      expectEqual(await runs.archiveRun(runId, { location: 'y', expectedSeq: atSeq + 1 }), false, 'only once');
      expectEqual(await runs.archiveLocation(runId), 'x', 'and stays where it is');
      expectEqual(
        await runs.archiveRun(bench.id('run'), { location: 'x', expectedSeq: 1 }),
        false,
        'an unknown run is none',
      );
      await expectCode('INVALID_ARGUMENT', 'the sequence must be told', () =>
        runs.archiveRun(runId, { location: 'x' } as never),
      );
    },
  }),
  runsCase({
    id: 'runs/archive-or-append',
    title: 'of an append and an archiving at the same moment one is refused: no event goes unseen',
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
        expect(archived !== appended, `either archived or appended: ${archived}, ${appended}`);
        if (appended) expectEqual(await bench.tenant.runs.headSeq(runId), 2, 'what was appended is there');
      }
    },
  }),
  runsCase({
    id: 'runs/archived-run-comes-back',
    title: 'an archived run that is restored is live again, and archived no longer',
    proves: ['RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      expectEqual((await runs.restoreRun(parts)).restored, true, 'it was not there');
      expectEqual(await seenOf(bench.tenant, runId), before, 'all is as it was');
      expectEqual(await runs.archiveLocation(runId), null, 'it lies nowhere else');
      expectEqual((await runs.appendEvent(runEvent(bench, { runId }))).runSeq, before.head + 1, 'it goes on');
    },
  }),
];

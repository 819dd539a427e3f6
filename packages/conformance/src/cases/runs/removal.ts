/** The log is append-only, and whole runs can be removed (001 §2.3; RUN-15). */
import { randomUUID } from 'node:crypto';
import { expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { appendNumbered, appendTypes, runEvent, wholeLog } from './events.ts';

export const REMOVAL_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/stored-events-never-change',
    title: 'no append, duplicate or conflict changes a stored event',
    proves: ['001 §2.3', '004 §4', 'RUN-15'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, payload: { n: 1 } });
      await bench.tenant.runs.appendEvent(event);
      const before = await wholeLog(bench.tenant, runId);
      await bench.tenant.runs.appendEvent({ ...event, payload: { n: 2 }, emittedAt: '2027-01-01T00:00:00Z' });
      await bench.tenant.runs
        .appendEvent({ ...event, idempotencyKey: randomUUID(), payload: { n: 3 } })
        .catch(() => undefined);
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 0 }).catch(() => undefined);
      await bench.tenant.runs.projectSnapshot(runId);
      expectEqual((await wholeLog(bench.tenant, runId))[0], before[0], 'the first event is unchanged');
    },
  }),
  runsCase({
    id: 'runs/deleted-runs-are-unknown',
    title: 'a deleted run is unknown to every read, and other runs are unaffected',
    proves: ['RUN-15', '001 §2.3'],
    async run(bench) {
      const [runId, neighbour] = [bench.id('run'), bench.id('run')];
      await appendTypes(bench, runId, 'RunStarted', 'RunCompleted');
      await appendTypes(bench, neighbour, 'RunStarted');
      await bench.tenant.runs.getSnapshot(runId);
      expectEqual(await bench.tenant.runs.deleteRun(runId), true, 'there was a run to delete');
      expectEqual(await bench.tenant.runs.fetchEvents(runId), [], 'its events are gone');
      expectEqual(await all(bench.tenant.runs.readEvents(runId)), [], 'iterators yield nothing');
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'its head is 0');
      expectEqual(await bench.tenant.runs.getSnapshot(runId), null, 'its snapshot is gone');
      await expectCode('RUN_NOT_FOUND', 'there is nothing to project', () => bench.tenant.runs.projectSnapshot(runId));
      const { items } = await bench.tenant.runs.listRuns();
      expectEqual(
        items.map((it) => it.runId),
        [neighbour],
        'it is no longer listed, the other run is',
      );
      expectEqual(await bench.tenant.runs.deleteRun(runId), false, 'a second delete finds nothing');
      expectEqual(await bench.tenant.runs.deleteRun(bench.id('run')), false, 'deleting an unknown run finds nothing');
    },
  }),
  runsCase({
    id: 'runs/deleted-runs-do-not-restart',
    title: 'a late retry to a deleted run fails with RUN_DELETED and never starts a new run at 1',
    proves: ['RUN-15'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, eventType: 'RunStarted' });
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'the same event is refused', () => bench.tenant.runs.appendEvent(event));
      await expectCode('RUN_DELETED', 'a new event is refused', () =>
        bench.tenant.runs.appendEvent(runEvent(bench, { runId })),
      );
      await expectCode('RUN_DELETED', 'a fenced event is refused', () =>
        bench.tenant.runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 0 }),
      );
      await expectCode('RUN_DELETED', 'a batch is refused', () => appendNumbered(bench, runId, 2));
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'the run stays gone');
    },
  }),
  runsCase({
    id: 'runs/deletion-at-a-sequence',
    title: 'deleting a run with expectedSeq is rejected unless that is its last sequence',
    proves: ['RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 3);
      for (const atSeq of [2, 4])
        await expectCode('SEQ_CONFLICT', `the run is not at ${atSeq}`, () =>
          runs.deleteRun(runId, { expectedSeq: atSeq }),
        );
      expectEqual((await wholeLog(bench.tenant, runId)).length, 3, 'every event is still stored');
      expectEqual((await appendNumbered(bench, runId, 1)).length, 1, 'the run continues');
      await expectCode('SEQ_CONFLICT', 'the run is no longer at 3', () => runs.deleteRun(runId, { expectedSeq: 3 }));
      expectEqual(await runs.deleteRun(runId, { expectedSeq: 4 }), true, 'the run is deleted at its last sequence');
      expectEqual(await runs.headSeq(runId), 0, 'the run is gone');
      expectEqual(await runs.deleteRun(runId, { expectedSeq: 4 }), false, 'the retried call finds nothing');
      await expectCode('INVALID_ARGUMENT', 'no run has a sequence of 0', () =>
        runs.deleteRun(runId, { expectedSeq: 0 }),
      );
    },
  }),
  runsCase({
    id: 'runs/deletion-stays-within-the-tenant',
    title: 'deleting one tenant’s run leaves another tenant’s run with the same id alone',
    proves: ['RUN-15', 'GEN-10'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      await bench.store.runs.appendEvents([runEvent(bench, { runId }), runEvent(other, { runId })]);
      await bench.tenant.runs.deleteRun(runId);
      const view = bench.store.forTenant(other.tenantId);
      expectEqual((await wholeLog(view, runId)).length, 1, 'the other run is unchanged');
      expectEqual(
        (await view.runs.appendEvent(runEvent(other, { runId }))).persisted,
        true,
        'the other run can continue',
      );
      expectEqual(
        (await bench.store.runs.fetchEvents(runId)).length,
        2,
        'the id is no longer ambiguous to the operator',
      );
    },
  }),
];

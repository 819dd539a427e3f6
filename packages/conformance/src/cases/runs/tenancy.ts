/** Tenants: everything is keyed by tenant first, and views see only their own (GEN-10, RUN-8). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, allPages } from '../iterate.ts';
import { runEvent, wholeLog } from './events.ts';

export const TENANCY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/tenants-may-use-the-same-ids',
    title: 'two tenants with the same run id and keys have two runs',
    proves: ['GEN-10', 'RUN-8'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      for (const owner of [bench, other]) {
        const event = runEvent(owner, { runId, idempotencyKey: 'k', payload: { owner: owner.tenantId } });
        const result = await bench.store.forTenant(owner.tenantId).runs.appendEvent(event);
        expect(result.persisted, 'a key of one tenant is not a duplicate in another');
      }
      for (const { tenantId } of [bench, other]) {
        const log = await wholeLog(bench.store.forTenant(tenantId), runId);
        expectEqual(
          log.map((it) => it.payload),
          [{ owner: tenantId }],
          'each tenant reads its own run only',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/views-see-their-tenant-only',
    title: 'in a view another tenant’s run is unknown to every read',
    proves: ['GEN-10', 'RUN-8'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      await bench.store.runs.appendEvent(runEvent(other, { runId, eventType: 'RunStarted' }));
      const view = bench.tenant.runs;
      expectEqual(await view.fetchEvents(runId), [], 'fetchEvents returns nothing');
      expectEqual(await all(view.readEvents(runId)), [], 'readEvents yields nothing');
      expectEqual(await view.headSeq(runId), 0, 'headSeq is 0');
      expectEqual(await view.getSnapshot(runId), null, 'there is no snapshot');
      await expectCode('RUN_NOT_FOUND', 'there is nothing to project', () => view.projectSnapshot(runId));
      expectEqual((await view.listRuns()).items, [], 'the run is not listed');
      expectEqual(await view.deleteRun(runId), false, 'the run cannot be deleted');
      const asked = await view.listRuns({ tenantId: other.tenantId }).catch(() => ({ items: [] }));
      expectEqual(asked.items, [], 'naming the other tenant does not help');
      expectEqual((await bench.store.runs.headSeq(runId)) > 0, true, 'the run still exists');
    },
  }),
  runsCase({
    id: 'runs/views-write-their-tenant-only',
    title: 'an event that names another tenant than the view is TENANT_MISMATCH',
    proves: ['RUN-8', 'GEN-10'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      await expectCode('TENANT_MISMATCH', 'a view refuses events of other tenants', () =>
        bench.tenant.runs.appendEvent(runEvent(other, { runId })),
      );
      await expectCode('TENANT_MISMATCH', 'a view refuses a batch with such an event', () =>
        bench.tenant.runs.appendEvents([runEvent(bench, { runId }), runEvent(other, { runId })]),
      );
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing was written for the view’s tenant');
      expectEqual(
        await bench.store.forTenant(other.tenantId).runs.headSeq(runId),
        0,
        'nothing was written for the other tenant',
      );
    },
  }),
  runsCase({
    id: 'runs/operator-finds-unambiguous-runs',
    title: 'the operator’s view finds a run by id if only one tenant has it; otherwise AMBIGUOUS_RUN',
    proves: ['GEN-10'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      await bench.store.runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }));
      expectEqual((await bench.store.runs.fetchEvents(runId)).length, 1, 'an unambiguous run id is found');
      await bench.store.runs.appendEvent(runEvent(other, { runId, eventType: 'RunQueued' }));
      const reads: Record<string, () => Promise<unknown>> = {
        fetchEvents: () => bench.store.runs.fetchEvents(runId),
        headSeq: () => bench.store.runs.headSeq(runId),
        getSnapshot: () => bench.store.runs.getSnapshot(runId),
        projectSnapshot: () => bench.store.runs.projectSnapshot(runId),
        verify: () => bench.store.runs.verify(runId),
        deleteRun: () => bench.store.runs.deleteRun(runId),
      };
      for (const [name, read] of Object.entries(reads))
        await expectCode('AMBIGUOUS_RUN', `${name} refuses an ambiguous id`, read);
      const { tenantId } = other;
      expectEqual(
        (await bench.store.runs.projectSnapshot(runId, { tenantId })).status,
        'PENDING',
        'naming the tenant resolves it',
      );
      const log = await bench.store.runs.fetchEvents(runId, { tenantId: bench.tenantId });
      expectEqual(
        log.map((it) => it.eventType),
        ['RunStarted'],
        'for each tenant',
      );
    },
  }),
  runsCase({
    id: 'runs/operator-writes-to-the-tenant-an-event-names',
    title: 'on the operator’s view one batch may contain events of several tenants',
    proves: ['GEN-10'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      const results = await bench.store.runs.appendEvents([runEvent(bench, { runId }), runEvent(other, { runId })]);
      expect(
        results.every((it) => it.persisted),
        'each event goes to the tenant it names',
      );
      expectEqual((await wholeLog(bench.tenant, runId)).length, 1, 'the first tenant has one event');
      expectEqual(
        (await wholeLog(bench.store.forTenant(other.tenantId), runId)).length,
        1,
        'the second tenant has one event',
      );
    },
  }),
  runsCase({
    id: 'runs/scope-is-bound-by-the-first-event',
    title: 'a project or environment other than the first event’s is SCOPE_MISMATCH',
    proves: ['RUN-8'],
    async run(bench) {
      const runId = bench.id('run');
      const { runSeq } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }));
      for (const scope of [{ projectId: 'elsewhere' }, { environmentId: 'production' }]) {
        await expectCode('SCOPE_MISMATCH', `the run does not move to ${JSON.stringify(scope)}`, () =>
          bench.tenant.runs.appendEvent(runEvent(bench, { runId, ...scope })),
        );
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), runSeq, 'nothing was written');
    },
  }),
  runsCase({
    id: 'runs/hostile-tenant-ids-never-meet',
    title: 'tenants with similar ids stay apart',
    proves: ['GEN-5', 'GEN-10'],
    async run(bench) {
      const runId = bench.id('run');
      const marks = ['a:b', 'a_b', 'a%3Ab', 'a.b', 'A:b', 'a', 'a%', '{a}', '..', 'a/b', ' a'];
      const base = bench.id('tenant');
      for (const mark of marks) {
        const tenantId = `${base}${mark}`;
        await bench.store.runs.appendEvent(runEvent({ tenantId }, { runId, payload: { mark } }));
      }
      for (const mark of marks) {
        const view = bench.store.forTenant(`${base}${mark}`);
        const log = await wholeLog(view, runId);
        expectEqual(
          log.map((it) => it.payload),
          [{ mark }],
          `tenant …${mark} has its own run and no other`,
        );
        const runs = await allPages((cursor) =>
          view.runs.listRuns({ limit: 1, ...(cursor === undefined ? {} : { cursor }) }),
        );
        expectEqual(
          runs.map((it) => it.tenantId),
          [`${base}${mark}`],
          'the tenant lists only its own run',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/a-view-names-its-tenant',
    title: 'forTenant reports the tenant it is confined to, and closing the view closes nothing',
    proves: ['GEN-10'],
    async run(bench) {
      expectEqual(bench.tenant.info.tenantId, bench.tenantId, 'the view’s info names its tenant');
      expectEqual(bench.store.info.tenantId, undefined, 'the operator’s view has no tenant');
      const view = bench.store.forTenant(bench.tenantId);
      await view.close();
      expectEqual(await bench.store.ping(), true, 'the store stays open');
      for (const tenantId of ['', 'a\0b', '\ud800', 'x'.repeat(513)]) {
        await expectCode('INVALID_ARGUMENT', 'an invalid tenant id is refused', async () => {
          await bench.store.forTenant(tenantId).runs.headSeq('r');
        });
      }
    },
  }),
];

/** Listing removed runs, from which an operator copies their tombstones (RUN-15). */
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf } from '../agents/samples.ts';
import { allPages } from '../iterate.ts';
import { runEvent } from '../runs/events.ts';

const removedCase = casesOf('general', 'admin', 'runs');

export const REMOVED_RUN_CASES: readonly ConformanceCase[] = [
  removedCase({
    id: 'general/admin-lists-removed-runs',
    title: 'an operator lists exactly the deleted and archived runs of a tenant',
    proves: ['RUN-15', 'COPY-1'],
    async run({ store, tenant, tenantId, id }) {
      const [deleted, archived, live, back] = [id('a'), id('b'), id('c'), id('d')];
      for (const runId of [deleted, archived, live, back])
        await tenant.runs.appendEvent(runEvent({ tenantId }, { runId }));
      const parts = await Array.fromAsync(tenant.runs.exportRun(back));
      await tenant.runs.deleteRun(deleted);
      await tenant.runs.archiveRun(archived, { location: 'the archive', expectedSeq: 1 });
      await tenant.runs.archiveRun(back, { location: 'the archive', expectedSeq: 1 });
      const list = (limit: number) => allPages((cursor) => store.admin.listRemovedRuns({ tenantId, cursor, limit }));
      expectEqual((await list(1)).length, 3, 'three runs are listed, one per page');
      await tenant.runs.restoreRun(parts);
      const listed = await list(100);
      expect(
        listed.every(({ at }) => Math.abs(Date.parse(at) - Date.now()) < 24 * 3_600_000),
        'each entry has the time of its removal',
      );
      expectEqual(
        listed.map(({ at: _, ...run }) => run),
        [
          { tenantId, runId: deleted, kind: 'deleted' as const },
          { tenantId, runId: archived, kind: 'archived' as const, location: 'the archive' },
        ].sort((left, right) => (left.runId < right.runId ? -1 : 1)),
        'a restored run is no longer listed',
      );
      expectEqual((await tenant.admin.listRemovedRuns()).items, listed, 'a view lists its own removed runs');
      expectEqual(
        (await store.forTenant(id('tenant')).admin.listRemovedRuns()).items,
        [],
        'a view lists no runs of others',
      );
    },
  }),
];

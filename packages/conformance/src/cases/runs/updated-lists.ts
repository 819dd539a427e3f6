/** Lists of runs by their last update: the order, the pages, and runs that change while a caller pages (RUN-12). */
import type { ListRunsOptions, Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendTypes } from './events.ts';

const needs = ['runs.listByUpdate'] as const;

/** Creates runs and then updates them in the reverse order, each at its own time. Returns their ids by update. */
async function updatedRuns(bench: Bench, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => bench.id('run'));
  for (const runId of ids) {
    await appendTypes(bench, runId, 'RunStarted');
    await bench.pass(3);
  }
  for (const runId of ids.toReversed()) {
    await appendTypes(bench, runId, 'Progress');
    await bench.pass(3);
  }
  return ids.toReversed();
}

async function pageOf({ runs }: Store, options: ListRunsOptions) {
  const { items, next } = await runs.listRuns({ orderBy: 'updatedAt', ...options });
  return { ids: items.map(({ runId }) => runId), next, items };
}

export const UPDATED_LIST_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/list-by-update',
    title: 'runs are listed in the order of their last events, newest first by default, in pages of any size',
    proves: ['RUN-12'],
    needs,
    async run(bench) {
      const byUpdate = await updatedRuns(bench, 7);
      for (const order of ['oldest', 'newest'] as const) {
        const expected = order === 'oldest' ? byUpdate : byUpdate.toReversed();
        for (const limit of [1, 3, 100]) {
          const listed: string[] = [];
          let next: string | undefined;
          do {
            const page = await pageOf(bench.tenant, { order, limit, ...(next === undefined ? {} : { cursor: next }) });
            listed.push(...page.ids);
            next = page.next;
          } while (next !== undefined);
          expectEqual(listed, expected, `${order} first in pages of ${limit}`);
        }
      }
      expectEqual((await pageOf(bench.tenant, {})).ids, byUpdate.toReversed(), 'newest first is the default');
      const { items } = await bench.tenant.runs.listRuns({ order: 'oldest' });
      const byCreation = items.map(({ runId }) => runId);
      expectEqual(byCreation, byUpdate.toReversed(), 'the default order is that of creation');
      const status = { status: 'RUNNING' as const, limit: 2 };
      expectEqual((await pageOf(bench.tenant, status)).ids, byUpdate.toReversed().slice(0, 2), 'filters apply');
      expectEqual((await pageOf(bench.tenant, { status: 'FAILED' })).ids, [], 'filters apply');
      const other = bench.store.forTenant(bench.id('tenant'));
      expectEqual((await pageOf(other, {})).ids, [], 'other tenants see none of them');
    },
  }),
  runsCase({
    id: 'runs/list-by-update-beside-appends',
    title: 'while runs change, pages of the oldest first miss no run, and pages of the newest first repeat none',
    proves: ['RUN-12'],
    needs,
    async run(bench) {
      const byUpdate = await updatedRuns(bench, 6);
      const first = await pageOf(bench.tenant, { order: 'oldest', limit: 2 });
      expectEqual(first.ids, byUpdate.slice(0, 2), 'the first page');
      const [listed, waiting] = [byUpdate[0]!, byUpdate[3]!];
      for (const runId of [listed, waiting]) {
        await appendTypes(bench, runId, 'Progress');
        await bench.pass(3);
      }
      const rest = await pageOf(bench.tenant, { order: 'oldest', cursor: first.next! });
      const expected = [byUpdate[2], byUpdate[4], byUpdate[5], listed, waiting];
      expectEqual(rest.ids, expected, 'runs that changed follow at the end with their new state');
      expectEqual(rest.items.at(-1)?.lastEventSeq, 3, 'the state is the new one');
      const newest = await pageOf(bench.tenant, { limit: 2 });
      expectEqual(newest.ids, [waiting, listed], 'the last updates come first');
      await appendTypes(bench, byUpdate[2]!, 'Progress');
      await appendTypes(bench, listed, 'Progress');
      const later = await pageOf(bench.tenant, { cursor: newest.next! });
      expectEqual(later.ids, [byUpdate[5], byUpdate[4], byUpdate[1]], 'a run that moved to the front is not repeated');
    },
  }),
  runsCase({
    id: 'runs/list-by-update-cursors',
    title: 'a cursor continues only the order it came from',
    proves: ['RUN-12', 'GEN-1'],
    needs,
    async run(bench) {
      await updatedRuns(bench, 2);
      const { runs } = bench.tenant;
      const byUpdate = (await pageOf(bench.tenant, { limit: 1 })).next!;
      const byCreation = (await runs.listRuns({ limit: 1 })).next!;
      expect(byUpdate !== byCreation, 'the cursors differ');
      await expectCode('INVALID_ARGUMENT', 'a cursor of the list by update', () => runs.listRuns({ cursor: byUpdate }));
      await expectCode('INVALID_ARGUMENT', 'a cursor of the list by creation', () =>
        runs.listRuns({ cursor: byCreation, orderBy: 'updatedAt' }),
      );
      await expectCode('INVALID_ARGUMENT', 'an unknown order', () => runs.listRuns({ orderBy: 'status' as never }));
    },
  }),
];

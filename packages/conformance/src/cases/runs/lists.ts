/** Lists of runs: their fields, filters, and pages that return each run once (RUN-3, RUN-9; GEN-10). */
import { ANY_OWNER, OWNER_LABEL, type RunFilter, type RunStatus } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { allPages } from '../iterate.ts';
import { appendTypes, runEvent } from './events.ts';
import { feedMark } from './feed-pages.ts';

async function listed(bench: Bench, filter: RunFilter, limit = 100): Promise<string[]> {
  const runs = await allPages((cursor) =>
    bench.tenant.runs.listRuns({ ...filter, limit, ...(cursor === undefined ? {} : { cursor }) }),
  );
  return runs.map((it) => it.runId).sort();
}

const PATHS: Record<RunStatus, string[]> = {
  PENDING: ['RunQueued'],
  RUNNING: ['RunStarted'],
  PAUSED: ['RunStarted', 'RunPaused'],
  COMPLETED: ['RunStarted', 'RunCompleted'],
  FAILED: ['RunStarted', 'RunFailed'],
  CANCELLED: ['RunStarted', 'RunCancelled'],
};

export const LIST_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/list-tells-the-head',
    title: 'a listed run has its scope, status, last sequence, labels and times',
    proves: ['RUN-9', 'RUN-3'],
    async run(bench) {
      const runId = bench.id('run');
      const parentRunId = bench.id('parent');
      const labels = { team: 'orders', 'a.b': 'c d' };
      const first = await bench.tenant.runs.appendEvent(
        runEvent(bench, { runId, eventType: 'RunStarted', labels, parentRunId }),
      );
      await bench.pass(3);
      const last = await bench.tenant.runs.appendEvent(
        runEvent(bench, { runId, eventType: 'RunPaused', labels: { ignored: 'later' } }),
      );
      const { items, next } = await bench.tenant.runs.listRuns();
      expectEqual(next, undefined, 'one run fits on one page');
      expectEqual(
        items.map((it) => ({ ...it, labels: { ...it.labels } })),
        [
          {
            ...{
              tenantId: bench.tenantId,
              runId,
              projectId: 'project',
              environmentId: 'test',
              planId: 'plan',
              planVersion: '1',
            },
            ...{
              status: 'PAUSED' as const,
              lastEventSeq: last.runSeq,
              createdAt: first.persistedAt,
              updatedAt: last.persistedAt,
            },
            ...{ labels, parentRunId },
          },
        ],
        'the list shows the head, with the labels of the first event',
      );
    },
  }),
  runsCase({
    id: 'runs/count-what-is-listed',
    title: 'countRuns counts the runs that listRuns lists with the same filter, beyond one page',
    proves: ['RUN-3', 'GEN-3'],
    async run(bench) {
      const { runs } = bench.tenant;
      expectEqual(await runs.countRuns(), { count: 0, exact: true }, 'a tenant without runs');
      const events = Array.from({ length: 1_100 }, (_, n) =>
        runEvent(bench, { runId: bench.id(`run ${n}`), eventType: n % 10 === 0 ? 'RunQueued' : 'RunStarted' }),
      );
      for (let at = 0; at < events.length; at += 500) await runs.appendEvents(events.slice(at, at + 500));
      await appendTypes(bench, events[1]!.runId, 'RunCompleted');
      await runs.deleteRun(events[2]!.runId);
      expectEqual(await runs.countRuns({ status: 'PENDING' }), { count: 110, exact: true }, 'runs of a status');
      expectEqual(await runs.countRuns({ status: 'COMPLETED' }), { count: 1, exact: true }, 'one run');
      expectEqual(await runs.countRuns({ planId: 'no such plan' }), { count: 0, exact: true }, 'no match');
      expectEqual(await runs.countRuns(), { count: 1_099, exact: true }, 'all runs but the deleted one');
      const other = bench.store.forTenant(bench.id('other')).runs;
      expectEqual(await other.countRuns(), { count: 0, exact: true }, 'another tenant counts its own');
      await expectCode('INVALID_ARGUMENT', 'a status that does not exist is refused', () =>
        runs.countRuns({ status: 'DONE' as never }),
      );
      await expectCode('TENANT_MISMATCH', 'another tenant is refused', () => runs.countRuns({ tenantId: 'other' }));
    },
  }),
  runsCase({
    id: 'runs/list-filters-by-status',
    title: 'listRuns filters by status correctly without a projector',
    proves: ['RUN-3', 'RUN-11'],
    async run(bench) {
      const ids: Partial<Record<RunStatus, string>> = {};
      for (const [status, path] of Object.entries(PATHS) as [RunStatus, string[]][]) {
        ids[status] = bench.id('run');
        await appendTypes(bench, ids[status], ...path, 'Progress', 'RunQueued');
      }
      for (const status of Object.keys(PATHS) as RunStatus[]) {
        expectEqual(await listed(bench, { status }), [ids[status]!], `exactly the ${status} run is listed`);
      }
      const untold = bench.id('run');
      await appendTypes(bench, untold, 'Progress');
      for (const status of Object.keys(PATHS) as RunStatus[]) {
        const wanted = status === 'PENDING' ? [ids.PENDING!, untold].sort() : [ids[status]!];
        expectEqual(await listed(bench, { status }), wanted, `beside a run without a status, for ${status}`);
      }
      expectEqual(
        await listed(bench, { status: ['PAUSED', 'FAILED'] }, 1),
        [ids.PAUSED!, ids.FAILED!].sort(),
        'several statuses are alternatives',
      );
      await expectCode('INVALID_ARGUMENT', 'a status that does not exist is refused', () =>
        listed(bench, { status: 'DONE' as never }),
      );
    },
  }),
  runsCase({
    id: 'runs/list-filters-hold-together',
    title: 'filters by project, environment, plan, parent and labels, all together',
    proves: ['RUN-9'],
    async run(bench) {
      const parentRunId = bench.id('parent');
      const make = async (fields: object) => {
        const runId = bench.id('run');
        await bench.tenant.runs.appendEvent(runEvent(bench, { runId, ...fields }));
        return runId;
      };
      const plain = await make({});
      const project = await make({ projectId: 'other%' });
      const environment = await make({ environmentId: 'prod' });
      const plan = await make({ planId: 'plan_b' });
      const child = await make({ parentRunId });
      const labelled = await make({ labels: { team: 'a', tier: '1' } });
      const labelled2 = await make({ labels: { team: 'a', tier: '2' } });
      expectEqual(await listed(bench, { projectId: 'other%' }), [project], 'by project');
      expectEqual(await listed(bench, { environmentId: 'prod' }), [environment], 'by environment');
      expectEqual(await listed(bench, { planId: 'plan_b' }), [plan], 'by plan');
      expectEqual(await listed(bench, { parentRunId }), [child], 'by parent');
      expectEqual(await listed(bench, { labels: { team: 'a' } }), [labelled, labelled2].sort(), 'by one label');
      expectEqual(await listed(bench, { labels: { team: 'a', tier: '2' } }), [labelled2], 'by several labels');
      expectEqual(await listed(bench, { labels: { team: 'A' } }), [], 'labels are compared by bytes');
      expectEqual(
        await listed(bench, { projectId: 'project', labels: { tier: '1' } }),
        [labelled],
        'all conditions must hold',
      );
      expectEqual(await listed(bench, { projectId: 'other_' }), [], 'values are text, not patterns');
      expectEqual((await listed(bench, {}, 2)).length, 7, 'no condition lists all');
      expect(plain, 'a run without these fields matches none of the conditions');
    },
  }),
  runsCase({
    id: 'runs/list-omits-runs-of-adapters',
    title: 'listRuns and countRuns omit the runs of adapters unless the filter names an owner',
    proves: ['ADP-1'],
    async run(bench) {
      const make = async (labels?: Record<string, string>) => {
        const runId = bench.id('run');
        await bench.tenant.runs.appendEvent(runEvent(bench, { runId, ...(labels && { labels }) }));
        return runId;
      };
      const plain = await make();
      const labelled = await make({ team: 'a' });
      const claude = await make({ [OWNER_LABEL]: 'claude', team: 'a' });
      const openai = await make({ [OWNER_LABEL]: 'openai-agents' });
      const lists: [string, RunFilter, string[]][] = [
        ['by default', {}, [plain, labelled]],
        ['with another condition', { labels: { team: 'a' } }, [labelled]],
        ['of one adapter', { owner: 'claude' }, [claude]],
        ['of one adapter, by its label', { labels: { [OWNER_LABEL]: 'openai-agents' } }, [openai]],
        ['of one adapter, with another condition', { owner: 'claude', labels: { team: 'b' } }, []],
        ['of all', { owner: ANY_OWNER }, [plain, labelled, claude, openai]],
        ['of all, in pages', { owner: ANY_OWNER, labels: { team: 'a' } }, [labelled, claude]],
      ];
      for (const [what, filter, runs] of lists) {
        expectEqual(await listed(bench, filter, 1), runs.toSorted(), what);
        expectEqual((await bench.tenant.runs.countRuns(filter)).count, runs.length, `counted ${what}`);
      }
      const contradiction = { owner: 'claude', labels: { [OWNER_LABEL]: 'openai-agents' } };
      await expectCode('INVALID_ARGUMENT', 'a filter with two owners is refused', () =>
        bench.tenant.runs.listRuns(contradiction),
      );
    },
  }),
  runsCase({
    id: 'runs/list-filters-by-time',
    title: 'createdAfter is inclusive and createdBefore exclusive; likewise for updates',
    proves: ['RUN-6', 'GEN-2'],
    async run(bench) {
      const runs: { runId: string; createdAt: string; updatedAt: string }[] = [];
      for (let n = 0; n < 3; n++) {
        const runId = bench.id('run');
        const { persistedAt } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId }));
        runs.push({ runId, createdAt: persistedAt, updatedAt: persistedAt });
        await bench.pass(5);
      }
      const [a, b, c] = runs as [(typeof runs)[0], (typeof runs)[0], (typeof runs)[0]];
      expect(a.createdAt < b.createdAt && b.createdAt < c.createdAt, 'the store’s clock moved between the runs');
      expectEqual(
        await listed(bench, { createdAfter: b.createdAt }),
        [b.runId, c.runId].sort(),
        'createdAfter is inclusive',
      );
      expectEqual(await listed(bench, { createdBefore: b.createdAt }), [a.runId], 'createdBefore is exclusive');
      expectEqual(
        await listed(bench, { createdAfter: b.createdAt, createdBefore: c.createdAt }),
        [b.runId],
        'both bounds together',
      );
      const { persistedAt } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId: a.runId }));
      expectEqual(await listed(bench, { updatedAfter: persistedAt }), [a.runId], 'updatedAfter is inclusive');
      expectEqual(await listed(bench, { updatedBefore: c.createdAt }), [b.runId], 'updatedBefore is exclusive');
      await expectCode('INVALID_ARGUMENT', 'an invalid time is refused', () =>
        listed(bench, { createdAfter: 'yesterday' }),
      );
    },
  }),
  runsCase({
    id: 'runs/list-pages-in-order',
    title: 'lists newest or oldest first, and every page size returns each run exactly once',
    proves: ['GEN-3', 'RUN-9'],
    async run(bench) {
      const ids: string[] = [];
      for (let n = 0; n < 11; n++) {
        ids.push(bench.id(n % 2 ? 'run' : 'RUN'));
        await appendTypes(bench, ids.at(-1)!, 'RunStarted');
        if (n % 3 === 0) await bench.pass(3);
      }
      for (const order of ['newest', 'oldest'] as const) {
        for (const limit of [1, 2, 5, 11, 1_000]) {
          const runs = await allPages((cursor) =>
            bench.tenant.runs.listRuns({ order, limit, ...(cursor === undefined ? {} : { cursor }) }),
          );
          expectEqual(
            runs.map((it) => it.runId).sort(),
            ids.toSorted(),
            `pages of ${limit}, ${order} first, return each run once`,
          );
          const times = runs.map((it) => it.createdAt);
          expectEqual(
            times,
            order === 'oldest' ? times.toSorted() : times.toSorted().reverse(),
            `in order, ${order} first`,
          );
        }
      }
      const { items } = await bench.tenant.runs.listRuns();
      expectEqual(
        items.map((it) => it.createdAt),
        items
          .map((it) => it.createdAt)
          .toSorted()
          .reverse(),
        'newest first is the default',
      );
    },
  }),
  runsCase({
    id: 'runs/list-ends-with-a-full-page',
    title: 'a last page that is exactly full has no next',
    proves: ['GEN-3', 'RUN-9'],
    async run(bench) {
      for (let n = 0; n < 6; n++) await appendTypes(bench, bench.id('run'), n % 2 === 0 ? 'RunStarted' : 'RunQueued');
      for (const filter of [{}, { status: 'RUNNING' as const }]) {
        for (const limit of [1, 3]) {
          const pages: number[] = [];
          for (let cursor: string | undefined; ; ) {
            const { items, next } = await bench.tenant.runs.listRuns({ ...filter, limit, cursor });
            pages.push(items.length);
            expect(pages.length <= 6, 'there are no more pages than runs');
            if (next === undefined) break;
            cursor = next;
          }
          const runs = 'status' in filter ? 3 : 6;
          expectEqual(pages, Array(runs / limit).fill(limit), `${runs} runs in pages of ${limit}`);
        }
      }
    },
  }),
  runsCase({
    id: 'runs/cursors-of-other-lists',
    title: 'a cursor of another list or of the feed is INVALID_ARGUMENT, in both directions',
    proves: ['RUN-12', 'GEN-1'],
    needs: ['runs.feed', 'kv'],
    async run(bench) {
      const { runs, kv } = bench.tenant;
      for (const n of [1, 2]) {
        await appendTypes(bench, bench.id('run'), 'RunStarted');
        await kv.put(bench.id('key'), { n });
      }
      const ofRuns = (await runs.listRuns({ limit: 1 })).next!;
      const ofRecords = (await kv.scanPage('', { limit: 1 })).next!;
      const ofFeed = await feedMark(bench);
      const calls: [string, () => Promise<unknown>][] = [
        ['listRuns refuses a cursor of records', () => runs.listRuns({ cursor: ofRecords })],
        ['listRuns refuses a cursor of the feed', () => runs.listRuns({ cursor: ofFeed })],
        ['the feed refuses a cursor of runs', () => runs.feedPage({ cursor: ofRuns })],
        ['the feed refuses a cursor of records', () => runs.feedPage({ cursor: ofRecords })],
        ['records refuse a cursor of runs', () => kv.scanPage('', { cursor: ofRuns })],
        ['records refuse a cursor of the feed', () => kv.scanPage('', { cursor: ofFeed })],
      ];
      for (const [what, call] of calls) await expectCode('INVALID_ARGUMENT', what, call);
    },
  }),
  runsCase({
    id: 'runs/list-options-are-checked',
    title: 'limits outside 1 to 1 000, foreign cursors and unknown orders are INVALID_ARGUMENT',
    proves: ['RUN-12', 'GEN-1'],
    async run(bench) {
      await appendTypes(bench, bench.id('run'), 'RunStarted');
      for (const limit of [0, -1, 1.5, 1_001, '5' as never]) {
        await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () => bench.tenant.runs.listRuns({ limit }));
      }
      for (const cursor of ['nonsense', '', 'bnVsbA']) {
        await expectCode('INVALID_ARGUMENT', `cursor ${JSON.stringify(cursor)} is refused`, () =>
          bench.tenant.runs.listRuns({ cursor }),
        );
      }
      await expectCode('INVALID_ARGUMENT', 'an order that does not exist is refused', () =>
        bench.tenant.runs.listRuns({ order: 'random' as never }),
      );
    },
  }),
];

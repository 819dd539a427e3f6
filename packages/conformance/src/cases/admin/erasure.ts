/**
 * Erasing a tenant: removes all of its data and none of other tenants; calling it again finishes an interrupted
 * erasure.
 */

import type { ErasureReport, FeedOptions, Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { LARGE_FEED_PAGE } from '../../workbench.ts';
import { casesOf, flowEvent } from '../agents/samples.ts';
import { type KeptPayload, keptPayloads } from '../codec/kept-payloads.ts';
import { allPages } from '../iterate.ts';
import { pagedFeed } from '../runs/feed-pages.ts';

const adminCase = casesOf('general', 'admin');
const feedCase = casesOf('general', 'admin', 'runs.feed');
const MARK = 'to be forgotten';

/** Saves a payload of every kind that the store supports, and returns the functions that load them. */
async function fill(bench: Bench, view: Store): Promise<KeptPayload[]> {
  const places = keptPayloads(bench);
  for (const place of places) await place.save(view, idOf(place), { text: MARK });
  await view.kv.put('plain', { text: MARK });
  await view.kv.put('short', { text: MARK }, { ttl: 60_000 });
  await view.jobs.enqueue({ taskType: 'mail', taskId: 'job_1' });
  await view.agents.saveRemoteBinding({ traceId: 't', contextId: null, taskId: 't', agentUrl: MARK });
  await view.runs.deleteRun('never');
  await view.runs.handle('deleted').append('Note', { text: MARK });
  await view.runs.deleteRun('deleted');
  return places;
}

const idOf = ({ name }: KeptPayload) => `owner of ${name}`;

async function kept(places: readonly KeptPayload[], view: Store): Promise<string[]> {
  const found: string[] = [];
  for (const place of places) if ((await place.load(view, idOf(place))) !== undefined) found.push(place.name);
  for (const key of ['plain', 'short']) if (await view.kv.get(key)) found.push(key);
  if (await view.jobs.get({ taskType: 'mail', taskId: 'job_1' })) found.push('job');
  if ((await view.agents.listRemoteBindings('t')).length > 0) found.push('binding');
  return found;
}

/** Reads the feed from the kit's start, in pages large enough for a long one. */
function fromStart({ feedStart }: Bench): FeedOptions & { limit: number } {
  return { limit: LARGE_FEED_PAGE, ...(feedStart === undefined ? {} : { cursor: feedStart }) };
}

export const ERASURE_CASES: readonly ConformanceCase[] = [
  adminCase({
    id: 'general/erased-tenants-leave-nothing',
    title: 'after an erasure no data of the tenant is left, and every other tenant is unchanged',
    proves: ['GEN-10', 'RUN-15'],
    async run(bench) {
      const { store, tenant, tenantId } = bench;
      const neighbour = store.forTenant(bench.id('tenant'));
      const places = await fill(bench, tenant);
      await fill(bench, neighbour);
      const before = await kept(places, neighbour);
      expect(before.length > 10, 'there is data to erase');
      const { removed } = await store.admin.eraseTenant(tenantId);
      expectEqual(await kept(places, tenant), [], 'nothing is left of the tenant');
      expectEqual(await kept(places, neighbour), before, 'nothing of the other tenant is missing');
      expect((removed.runs ?? 0) >= 3, 'the report counts runs, tombstones among them');
      expectEqual([removed.bindings, removed.memory], [2, 1], 'the report counts documents');
      expect((removed.kv ?? 0) >= 3, 'the report counts records');
      const tenants = await allPages((cursor) => store.admin.listTenants({ cursor, limit: 1_000 }));
      expect(!tenants.includes(tenantId), 'the tenant is not listed any more');
      expectEqual((await tenant.runs.listRuns()).items, [], 'no run is listed');
      expectEqual((await tenant.agents.listSessions()).items, [], 'no session is listed');
      expectEqual((await tenant.artifacts.list()).items, [], 'no artifact is listed');
      const started = await tenant.runs.handle('deleted').append('RunStarted');
      expectEqual(started.runSeq, 1, 'even tombstones are gone: the ids can be used again');
    },
  }),
  feedCase({
    id: 'general/erased-tenants-leave-the-feed',
    title: 'after an erasure the feed contains no events of the tenant',
    proves: ['GEN-10'],
    async run(bench) {
      const { store, tenant, tenantId } = bench;
      const neighbour = bench.id('tenant');
      for (const view of [tenant, store.forTenant(neighbour)])
        await view.runs.handle('r').append('Note', { text: MARK });
      const eventsOf = async (id: string, count: number) =>
        (await pagedFeed(store, count, { ...fromStart(bench), filter: { tenantId: id } })).length;
      expectEqual(await eventsOf(tenantId, 1), 1, 'the feed has the event before the erasure');
      await store.admin.eraseTenant(tenantId);
      expectEqual(await eventsOf(tenantId, 0), 0, 'the feed does not have the event after the erasure');
      expectEqual(await eventsOf(neighbour, 1), 1, 'the feed still has the other tenant’s event');
    },
  }),
  adminCase({
    id: 'general/erasure-counts-items',
    title: 'an erasure counts a run once, regardless of its events, and counts every event of a trace',
    proves: ['GEN-10'],
    async run({ store, tenant, tenantId }) {
      for (const runId of ['r1', 'r2'])
        for (let n = 1; n <= 3; n++) await tenant.runs.handle(runId).append('Note', { n });
      for (let n = 1; n <= 3; n++) await tenant.agents.saveEvent(flowEvent('trace', { nodeName: `node ${n}` }));
      const { removed } = await store.admin.eraseTenant(tenantId);
      expectEqual([removed.runs, removed.events], [2, 3], 'the report counts runs and events of traces');
    },
  }),
  adminCase({
    id: 'general/erasure-tells-and-repeats',
    title: 'an erasure reports its progress, and a second one finds nothing to remove',
    proves: ['GEN-10', 'GEN-8'],
    async run(bench) {
      const { store, tenant, tenantId } = bench;
      for (let n = 0; n < 250; n++) await tenant.kv.put(`k${n}`, { n: String(n) });
      const reports: ErasureReport[] = [];
      const report = await store.admin.eraseTenant(tenantId, { onProgress: (progress) => reports.push(progress) });
      expectEqual(report, { tenantId, removed: { kv: 250 } }, 'the report counts everything once');
      expect(reports.length >= 2, 'the erasure reports its progress after each step');
      expectEqual(reports.at(-1), report, 'the last progress report is the final one');
      expect(
        reports.every((step, at) => at === 0 || step.removed.kv! > reports[at - 1]!.removed.kv!),
        'each progress report counts more than the one before',
      );
      expectEqual(await store.admin.eraseTenant(tenantId), { tenantId, removed: {} }, 'a second call finds nothing');
    },
  }),
  adminCase({
    id: 'general/erasure-goes-on-where-it-was',
    title: 'an aborted erasure is finished by calling it again',
    proves: ['GEN-8'],
    async run({ store, tenant, tenantId }) {
      for (let n = 0; n < 3; n++) await tenant.runs.handle(`r${n}`).append('RunStarted');
      for (let n = 0; n < 250; n++) await tenant.kv.put(`k${n}`, { n: String(n) });
      const stop = new AbortController();
      const erasing = store.admin.eraseTenant(tenantId, { signal: stop.signal, onProgress: () => stop.abort() });
      await expectCode('ABORTED', 'the erasure stops between two steps', () => erasing);
      const { removed } = await store.admin.eraseTenant(tenantId);
      expect((removed.kv ?? 0) > 0, 'there was data left to erase');
      expectEqual((await tenant.kv.scanPage('')).items, [], 'nothing is left');
    },
  }),
  adminCase({
    id: 'general/erasure-forgets-requests',
    title: 'an erasure forgets the request ids of the tenant, even of records deleted earlier',
    proves: ['GEN-8', 'GEN-10'],
    async run({ store, tenant, tenantId }) {
      const { kv } = tenant;
      const put = (key: string) => kv.put(key, { a: '1' }, { requestId: 'put' });
      const many = (n: number) => kv.setField('many', 'n', n, { requestId: `request-${n}` });
      for (let n = 0; n < 40; n++) await many(n);
      for (const key of ['there', 'deleted', 'expiring']) await put(key);
      await kv.delete('deleted');
      await kv.touch('expiring', '1h');
      expectEqual((await store.admin.eraseTenant(tenantId)).removed, { kv: 3 }, 'remembered requests are not counted');
      for (const key of ['there', 'deleted', 'expiring']) {
        expectEqual([(await put(key)).written, (await kv.get(key)) !== null], [true, true], `${key} is put again`);
      }
      await many(0);
      expectEqual(
        (await kv.get('many')) !== null,
        true,
        'a record that many requests had written can be put again too',
      );
    },
  }),
  adminCase({
    id: 'general/erasure-stays-within-the-view',
    title: 'a tenant view erases its own tenant and no other',
    proves: ['GEN-10'],
    async run({ store, tenant, tenantId, id }) {
      const other = id('tenant');
      await store.forTenant(other).kv.put('k', { a: '1' });
      await tenant.kv.put('k', { a: '1' });
      await expectCode('TENANT_MISMATCH', 'erasing another tenant is refused', () => tenant.admin.eraseTenant(other));
      expectEqual(
        (await tenant.admin.eraseTenant(tenantId)).removed,
        { kv: 1 },
        "the report counts the tenant's own record",
      );
      expect((await store.forTenant(other).kv.get('k')) !== null, 'the other tenant is unchanged');
    },
  }),
];

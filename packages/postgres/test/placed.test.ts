/** Tenants on several servers: where their data is, lists and feed over all servers, and wrong configurations. */
import type { FeedItem, Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type PostgresOptions, postgresStore } from '../src/index.ts';
import { newDatabase, openStore, runEvent, sharedServer, WITHOUT_POSTGRES } from './databases.ts';
import { createPlaced } from './placed.ts';
import { withClient } from './servers.ts';

/** Tenants in order, alternately on both servers. */
const TENANTS = ['acme', 'bolt', 'crow', 'dune'];
const alternating = (tenantId: string) => (TENANTS.indexOf(tenantId) % 2 === 1 ? 'north' : 'main');

async function placed(change: Partial<PostgresOptions> = {}) {
  const { options, urls, drop } = await createPlaced([sharedServer(), sharedServer()]);
  onTestFinished(drop);
  const given = { ...options, placement: alternating, ...change };
  const { url, ...others } = given;
  return { options: given, urls, store: await openStore(url, others) };
}

async function appendEvents(store: Store, tenantId: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await store.runs.appendEvent({ ...runEvent(`run-${at % 2}`), tenantId });
}

function idsOf(items: readonly FeedItem[]): string[] {
  return items.map(({ event }) => `${event.tenantId} ${event.runId} ${event.runSeq}`);
}

/** Returns the feed after a cursor. Waits for `count` items: open transactions of other tests hold the feed back. */
async function feedOf(store: Store, count: number, after?: string): Promise<FeedItem[]> {
  const items: FeedItem[] = [];
  const timeout = AbortSignal.timeout(30_000);
  for (let cursor = after; ; ) {
    const page = await store.runs.feedPage({ limit: 3, wait: 300, ...(cursor === undefined ? {} : { cursor }) });
    items.push(...page.items);
    const isEnd = page.next === undefined || page.next === cursor;
    if (isEnd && (items.length >= count || timeout.aborted)) return items;
    cursor = page.next;
  }
}

describe.skipIf(WITHOUT_POSTGRES)('Tenants on several servers', () => {
  it('stores each tenant on one server and lists all of them', async () => {
    const { store, urls } = await placed();
    for (const tenant of TENANTS) {
      await appendEvents(store, tenant, 4);
      await store.forTenant(tenant).kv.put('key', { tenant });
      await store.forTenant(tenant).artifacts.putText(`text of ${tenant}`);
    }
    for (const [at, url] of urls.entries()) {
      const found = await withClient(url, (client) =>
        client.query('SELECT DISTINCT tenant_id FROM tidemark.run_events ORDER BY tenant_id'),
      );
      expect(found.rows.map(({ tenant_id }) => tenant_id)).toEqual(TENANTS.filter((_, no) => no % 2 === at));
    }
    const tenants = await store.admin.listTenants({ limit: 3 });
    expect(tenants.items).toEqual(TENANTS.slice(0, 3));
    expect((await store.admin.listTenants({ limit: 3, cursor: tenants.next! })).items).toEqual(TENANTS.slice(3));
    expect((await store.admin.artifactTotals()).items.map(({ tenantId }) => tenantId)).toEqual(TENANTS);

    const runs: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await store.runs.listRuns({
        limit: 3,
        order: 'oldest',
        ...(cursor === undefined ? {} : { cursor }),
      });
      runs.push(...page.items.map(({ tenantId, runId }) => `${tenantId} ${runId}`));
      if (page.next === undefined) break;
      cursor = page.next;
    }
    expect(runs).toEqual(TENANTS.flatMap((tenant) => [`${tenant} run-0`, `${tenant} run-1`]));
    expect(await store.forTenant('bolt').kv.get('key')).not.toBeNull();
    await expect(store.runs.headSeq('run-0')).rejects.toMatchObject({ code: 'AMBIGUOUS_RUN' });
  });

  it('merges the feed, and continues after every cursor without losing or repeating events', async () => {
    const { store } = await placed();
    for (let round = 0; round < 3; round++) for (const tenant of TENANTS) await appendEvents(store, tenant, 2);
    const all = await feedOf(store, 24);
    expect(new Set(idsOf(all)).size).toBe(24);
    expect(all).toHaveLength(24);
    for (const [at, { cursor }] of all.entries()) {
      if (at % 5 !== 0) continue;
      const rest = idsOf(await feedOf(store, 23 - at, cursor));
      expect([...idsOf(all.slice(0, at + 1)), ...rest].sort()).toEqual(idsOf(all).sort());
    }
  });

  it('places a tenant once, even if other processes would choose another server', async () => {
    const { options, store } = await placed();
    await appendEvents(store, 'acme', 1);
    const other = await openStore(options.url, { ...options, placement: () => 'north' });
    await appendEvents(other, 'acme', 3);
    await Promise.all([store, other].map((it) => it.forTenant('new').kv.put('key', { is: 'placed' })));
    for (const it of [store, other]) {
      expect(await it.runs.headSeq('run-0', { tenantId: 'acme' })).toBe(3);
      expect(await it.forTenant('new').kv.get('key')).not.toBeNull();
    }
  });

  it('takes over the tenants of a store that had one server, and its cursors', async () => {
    const url = await newDatabase();
    const before = await openStore(url);
    for (const tenant of TENANTS) await appendEvents(before, tenant, 2);
    const items = await feedOf(before, 8);
    await before.close();
    const store = await openStore(url, { servers: { north: await newDatabase() }, placement: alternating });
    expect(await store.runs.headSeq('run-1', { tenantId: 'bolt' })).toBe(1);
    await appendEvents(store, 'late', 2);
    const rest = idsOf(await feedOf(store, 5, items[4]!.cursor));
    expect(rest.sort()).toEqual([...idsOf(items.slice(5)), 'late run-0 1', 'late run-1 1'].sort());
  });

  it('rejects servers that are missing, swapped, or of another store', async () => {
    const { options, urls } = await placed();
    const [url, north] = urls as [string, string];
    const refused = { code: 'INVALID_ARGUMENT' };
    const third = await newDatabase();
    await expect(postgresStore({ url, servers: { south: third } })).rejects.toMatchObject(refused);
    await expect(postgresStore({ url, servers: { north, south: north } })).rejects.toMatchObject(refused);
    await expect(postgresStore({ url: north, servers: { north: url } })).rejects.toMatchObject(refused);
    await expect(postgresStore({ ...options, rowLevelSecurity: true })).rejects.toMatchObject(refused);
    await expect(postgresStore({ url, servers: {} })).rejects.toMatchObject(refused);
    await expect(postgresStore({ url, servers: { main: north } })).rejects.toMatchObject(refused);
  });
});

/** Inspects every key and value with a plain client after an erasure or a redaction. */
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { contentsOf, FILLED, fillTenant } from '../../../faults/tenant-contents.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

async function plainClient() {
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

type Client = Awaited<ReturnType<typeof plainClient>>;

/** Returns the keys whose name or value contains a string. */
async function keysWith(client: Client, prefix: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const keys of client.scanIterator({ MATCH: `${prefix}:*`, COUNT: 1_000 })) {
    for (const key of keys) if (key.includes(text) || (await contentsAt(client, key)).includes(text)) found.push(key);
  }
  return found;
}

async function contentsAt(client: Client, key: string): Promise<string> {
  const type = await client.type(key);
  if (type === 'hash') return JSON.stringify(await client.hGetAll(key));
  if (type === 'zset') return JSON.stringify(await client.zRange(key, 0, -1));
  if (type === 'list') return JSON.stringify(await client.lRange(key, 0, -1));
  if (type === 'stream') return JSON.stringify(await client.xRange(key, '-', '+'));
  return String(await client.get(key));
}

describe.skipIf(WITHOUT_REDIS)('eraseTenant', () => {
  it('leaves the tenant in no key, value, index or feed, and keeps other tenants intact', {
    timeout: 60_000,
  }, async () => {
    const [prefix, client] = [newPrefix(), await plainClient()];
    const store = await openStore(sharedServer(), { prefix });
    await fillTenant(store, 'neighbour');
    const before = await contentsOf(store, 'neighbour');
    await fillTenant(store, 'doomed-tenant:%');
    // Keys contain the id in escaped form.
    expect((await keysWith(client, prefix, 'doomed-tenant')).length).toBeGreaterThan(50);
    const { removed } = await store.admin.eraseTenant('doomed-tenant:%');
    expect(removed).toMatchObject(FILLED);
    expect(await keysWith(client, prefix, 'doomed-tenant')).toEqual([]);
    expect(await contentsOf(store, 'neighbour')).toEqual(before);
    expect((await store.admin.listTenants()).items).toEqual(['neighbour']);
  });

  it('removes expired records that were not cleaned up yet', { timeout: 30_000 }, async () => {
    const [prefix, client] = [newPrefix(), await plainClient()];
    const store = await openStore(sharedServer(), { prefix });
    const { kv } = store.forTenant('doomed');
    await Promise.all(Array.from({ length: 50 }, (_, n) => kv.put(`k${n}`, { a: '1' }, { ttl: 1 })));
    await store.admin.eraseTenant('doomed');
    expect(await keysWith(client, prefix, 'doomed')).toEqual([]);
  });
});

describe.skipIf(WITHOUT_REDIS)('redactEvent', () => {
  it("' removes the payload from every key, even if events are appended at the same time", {
    timeout: 60_000,
  }, async () => {
    const [prefix, client] = [newPrefix(), await plainClient()];
    const store = await openStore(sharedServer(), { prefix });
    const append = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, n) =>
          store.runs.appendEvent(runEvent('r', `k${from + n}`, { n: from + n })),
        ),
      );
    await append(0, 400);
    await store.runs.appendEvent(runEvent('r', 'secret', { text: 'to be forgotten' }));
    await append(400, 700);
    const [runSeq] = (await store.runs.fetchEvents('r', { limit: 1_000 }))
      .filter((event) => event.idempotencyKey === 'secret')
      .map((event) => event.runSeq);
    const order = { tenantId: 'default', by: 'dpo', reason: 'request 1' };
    await Promise.all([
      append(700, 1_000),
      store.runs.redactEvent('r', runSeq!, order),
      store.runs.redactEvent('r', 1, order),
      store.runs.redactEvent('r', 700, order),
    ]);
    expect(await keysWith(client, prefix, 'to be forgotten')).toEqual([]);
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 1_001 });
    const events = await store.runs.fetchEvents('r', { limit: 2_000 });
    expect(events.filter((event) => event.redacted).map((event) => event.runSeq)).toEqual(
      [1, runSeq, 700].sort((a, b) => a! - b!),
    );
    expect((await store.runs.appendEvent(runEvent('r', 'k5', { n: 5 }))).idempotent).toBe(true);
  });
});

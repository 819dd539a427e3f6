/** `doctor({ deep: true })` compares the data in Redis with its indexes (KV-12, RUN-20). */
import { createClient } from '@redis/client';
import type { Store } from '@tidemark/core';
import { expect, it, onTestFinished } from 'vitest';
import { fill } from '../../../faults/damage-contents.ts';
import { Layout } from '../src/layout.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 16;
const RUN = { space: 'runs', tenantId: 'default', name: 'run-1' } as const;

async function filled() {
  const prefix = newPrefix();
  const store = await openStore(sharedServer(), { prefix });
  await fill(store, 0);
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  return { store, client, layout: new Layout(prefix, BUCKETS) };
}

const findingOf = async (store: Store, check: string) =>
  (await store.doctor({ deep: true })).findings.find((finding) => finding.check === check)!;

it.skipIf(WITHOUT_REDIS)('finds nothing where everything is indexed, even with concurrent writers', async () => {
  const { store } = await filled();
  let isOver = false;
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      await store.kv.put(`w.${n % 5}`, { n }, n % 2 ? { ttl: 5 } : {});
      await store.kv.delete(`w.${(n + 2) % 5}`);
      await store.runs.handle(`w-${n}`, { projectId: 'p', environmentId: 'e' }).append('RunStarted');
      if (n % 3 === 0) await store.runs.deleteRun(`w-${n}`);
    }
  })();
  for (let round = 0; round < 3; round++)
    expect(await findingOf(store, 'indexes')).toMatchObject({
      status: 'ok',
      message: /the indexes name all of \d+ keys/,
    });
  isOver = true;
  await writing;
});

type Parts = Awaited<ReturnType<typeof filled>>;
const name = { space: 'kv', tenantId: 'default', key: 'k.1' } as const;

const damages: Record<string, (parts: Parts) => Promise<unknown>> = {
  'a record that its list does not name': ({ client, layout }) =>
    client.zRem(layout.names(layout.bucketOfRecord(name), 'kv', 'default'), 'k.1'),
  'a memory that its list does not name': ({ client, layout }) => {
    const memory = { space: 'memory', tenantId: 'default', key: 'm.1' } as const;
    return client.zRem(layout.names(layout.bucketOfRecord(memory), 'memory', 'default'), 'm.1');
  },
  'a record under the key of another': ({ client, layout }) => {
    const key = layout.record(name);
    return client.copy(key, `${key}!`);
  },
  'a tenant that no list names': ({ client, layout }) =>
    client.zRem(layout.recordTenants(layout.bucketOfRecord(name), 'kv'), 'default'),
  'an expiry that no list names': async ({ client, layout }) => {
    const expiring = { ...name, key: 'k.7' };
    const bucket = layout.bucketOfRecord(expiring);
    return client.zRem(layout.shared(bucket, 'expiring'), 'kv\0default\0k.7');
  },
  'a run that lists do not name': ({ client, layout }) =>
    client.del(layout.tenants(layout.journal(RUN).bucket, 'run-list', 'default')),
  'a run without its head': ({ client, layout }) => client.del(layout.journal(RUN).head),
  'the last update of a session': async ({ client, layout }) =>
    client.xDel(layout.journal({ space: 'updates', tenantId: 'default', name: 's' }).log, '20-0'),
};

it.skipIf(WITHOUT_REDIS).each(Object.entries(damages))('finds %s', async (_, damage) => {
  const parts = await filled();
  expect(await damage(parts)).toBeGreaterThan(0);
  expect(await findingOf(parts.store, 'indexes')).toMatchObject({ status: 'fail' });
  // A tenant must not learn about another tenant's data.
  const other = await findingOf(parts.store.forTenant('other'), 'indexes');
  expect(other).toMatchObject({ status: 'ok', message: 'the indexes name all of 0 keys' });
});

it.skipIf(WITHOUT_REDIS)('a list reports a name without a record, and continues without it', async () => {
  const { store, client, layout } = await filled();
  const bucket = layout.bucketOfRecord({ space: 'memory', tenantId: 'default', key: 'm.0q' });
  await client.zAdd(layout.names(bucket, 'memory', 'default'), { score: 0, value: 'm.0q' });
  const { items, damaged } = await store.agents.listMemory({ limit: 100 });
  expect([items.length, damaged]).toEqual([20, ['m.0q']]);
  expect(await findingOf(store, 'stored values')).toMatchObject({ status: 'fail' });
});

it.skipIf(WITHOUT_REDIS)('a record that vanished before its expiry is rejected, not treated as expired', async () => {
  const { store, client, layout } = await filled();
  const expiring = { ...name, key: 'k.14' };
  await client.pExpireAt(layout.record(expiring), 1);
  await expect(store.kv.get('k.14')).rejects.toMatchObject({ code: 'CORRUPT_VALUE', field: 'k.14' });
});

/**
 * The layout of a store in Redis: readable, unambiguous names, a fixed number of buckets, and nothing left behind
 * (KV-6, GEN-5).
 */
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.ts';
import { Layout } from '../src/layout.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const HOSTILE = [
  'a:b',
  'a.b',
  'a%3Ab',
  'a%b',
  'a%25b',
  '{b00}',
  'a}b{',
  'a b',
  'é',
  '😀',
  '%',
  ':',
  '.',
  'a/b',
  'a\nb',
];

describe('the layout', () => {
  const layout = new Layout('tidemark', 16);
  const keyOf = (tenantId: string, key: string) => {
    const name = { space: 'kv', tenantId, key } as const;
    return layout.record(name);
  };

  it('shows a job as the specification names it, after the bucket', () => {
    expect(keyOf('default', 'gbe.state.tasks.email-send.job_1')).toMatch(
      /^tidemark:\{b\d\d\}:kv:default:gbe:state:tasks:email-send:job_1$/,
    );
  });

  it('maps different names to different keys, for any characters', () => {
    const pairs = HOSTILE.flatMap((tenant) => HOSTILE.map((key) => [tenant, key] as const));
    expect(new Set(pairs.map(([tenant, key]) => keyOf(tenant, key))).size).toBe(pairs.length);
    expect(keyOf('a', 'b.c')).not.toBe(keyOf('a.b', 'c'));
    expect(keyOf('a', 'b:c')).not.toBe(keyOf('a', 'b.c'));
  });

  it('keeps related records in one bucket', () => {
    const bucketOf = (space: 'tasks' | 'artifacts' | 'sessions' | 'snapshots', key: string) =>
      layout.bucketOfRecord({ space, tenantId: 't', key });
    for (let id = 0; id < 100; id++) {
      const session = layout.journal({ space: 'updates', tenantId: 't', name: `s/${id}` }).bucket;
      expect(bucketOf('sessions', `s/${id}`)).toBe(session);
      expect(bucketOf('tasks', `s%2F${id}/task`)).toBe(session);
      expect(bucketOf('artifacts', `session/s/${id}`)).toBe(bucketOf('artifacts', `ref/${id}`));
      expect(bucketOf('snapshots', `r${id}`)).toBe(
        layout.journal({ space: 'runs', tenantId: 't', name: `r${id}` }).bucket,
      );
    }
  });
});

describe.skipIf(WITHOUT_REDIS)('a store in Redis', () => {
  it('keeps the number of buckets it was created with, and rejects another', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix, buckets: 3 });
    await store.kv.put('k', { v: 1 });
    const again = await openStore(sharedServer(), { prefix });
    expect((await again.kv.get('k'))?.revision).toBe(1);
    await expect(redisStore({ url: sharedServer(), prefix, buckets: 4 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'buckets',
    });
  });

  it('leaves no index entries behind when records are deleted or expire', async () => {
    const prefix = newPrefix();
    const client = createClient({ url: sharedServer() });
    await client.connect();
    onTestFinished(() => client.destroy());
    const store = await openStore(sharedServer(), { prefix, buckets: 1 });
    const job = { state: 'pending', created_at: '1', updated_at: '1' };
    await store.kv.put('gbe.state.tasks.mail.deleted', job);
    await store.kv.put('gbe.state.tasks.mail.expired', job, { ttl: 50 });
    await store.kv.put('plain', { v: 1 }, { ttl: 50 });
    // Written again after it has expired and before the cleaner runs.
    await store.kv.put('again', { v: 1 }, { ttl: 1 });
    await expect.poll(() => store.kv.get('again')).toBeNull();
    await store.kv.setField('again', 'v', '2');
    expect(await client.zCard(`${prefix}:{b00}:jobs:default`)).toBe(4);
    expect(await client.zCard(`${prefix}:{b00}:expiring`)).toBe(3);
    await store.kv.delete('gbe.state.tasks.mail.deleted');
    // The cleaner runs every few seconds.
    await expect.poll(() => client.keys(`${prefix}:*`), { timeout: 15_000, interval: 200 }).toHaveLength(5);
    expect((await client.keys(`${prefix}:*`)).sort()).toEqual(
      ['kv-names:default', 'kv-tenants', 'kv:default:again', 'revision', 'store'].map(
        (name) => `${prefix}:{b00}:${name}`,
      ),
    );
    expect(await client.zRange(`${prefix}:{b00}:kv-names:default`, 0, -1)).toEqual(['again']);
  });
});

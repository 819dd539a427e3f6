/**
 * Checksums of records in Redis: companions in the hash, the damage they find, and stores from before checksums
 * (KV-12).
 */
import { createClient } from '@redis/client';
import { type KvStore, textOf } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.ts';
import { Layout, tagOf } from '../src/layout.ts';
import { makeFormatOne } from './kit-parts.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 16;
const CORRUPT = { code: 'CORRUPT_VALUE', field: 'key' };

async function rawClient() {
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

/** The hash of the record `key` of the default tenant. */
function hashOf(prefix: string): string {
  const layout = new Layout(prefix, BUCKETS);
  const name = { space: 'kv', tenantId: 'default', key: 'key' } as const;
  return layout.record(name);
}

describe.skipIf(WITHOUT_REDIS)('a record in Redis', () => {
  it('is rejected when a field or the whole record was lost', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    const client = await rawClient();
    await store.kv.put('key', { a: 'one', b: 'two' });
    await client.hDel(hashOf(prefix), 'a');
    await expect(store.kv.get('key')).rejects.toMatchObject(CORRUPT);
    await expect(store.kv.getField('key', 'a')).rejects.toMatchObject(CORRUPT);
    await client.del(hashOf(prefix));
    await expect(store.kv.get('key')).rejects.toMatchObject(CORRUPT);
    await store.kv.put('key', { a: 'again' });
    expect(textOf((await store.kv.get('key'))!.fields.a)).toBe('again');
    await store.kv.delete('key');
    expect(await store.kv.get('key')).toBeNull();
  });

  it('is absent, not lost, once it has expired', async () => {
    const store = await openStore(sharedServer());
    await store.kv.put('key', { a: 'one' }, { ttl: 20 });
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(await store.kv.get('key')).toBeNull();
    expect(await store.kv.getField('key', 'a')).toBeNull();
  });

  it('has companions from its first write after a store of format 1 was upgraded', async () => {
    const prefix = newPrefix();
    const client = await rawClient();
    await makeFormatOne(sharedServer(), prefix);
    const options = { url: sharedServer(), prefix };
    const before = await redisStore(options);
    await before.kv.put('key', { a: 'one' });
    expect((await client.hKeys(hashOf(prefix))).sort()).toEqual(['\0', 'a']);
    await before.close();
    const after = await redisStore({ ...options, upgrade: true });
    onTestFinished(() => after.close());
    expect(textOf((await after.kv.get('key'))!.fields.a)).toBe('one');
    await after.kv.setField('key', 'b', 'two');
    expect((await client.hKeys(hashOf(prefix))).sort()).toEqual(['\0', '\0b', 'a', 'b']);
    expect(await client.hGet(`${tagOf(prefix, 0)}store`, 'format')).toBe('2');
  });

  it('stays readable when a process that opened the store before its upgrade writes to it', async () => {
    const prefix = newPrefix();
    await makeFormatOne(sharedServer(), prefix);
    const before = await openStore(sharedServer(), { prefix });
    const after = await openStore(sharedServer(), { prefix, upgrade: true });
    const writes: [string, (kv: KvStore) => Promise<unknown>][] = [
      ['a field', (kv) => kv.setField('key', 'a', 'new')],
      ['a field and a time to live', (kv) => kv.swap('key', { set: { a: 'new' }, ttl: '1h' })],
      ['a field under a request id', (kv) => kv.swap('key', { set: { a: 'new' }, requestId: 'r1' })],
      ['no field', (kv) => kv.setFields('key', { a: null, b: 'new' })],
      ['another record', (kv) => kv.put('key', { a: 'new' })],
    ];
    for (const [what, write] of writes) {
      await after.kv.put('key', { a: 'old', b: 'old' });
      await write(before.kv);
      const fields = Object.entries((await after.kv.get('key'))!.fields).map(([name, value]) => [name, textOf(value)]);
      expect(fields.filter(([, value]) => value === 'new').length, what).toBe(1);
      await after.kv.getField('key', 'a');
    }
    await after.kv.put('key', { a: 'old' });
    await before.kv.setFields('key', { a: null });
    expect(await after.kv.get('key'), 'a record whose last field goes is gone').toBeNull();
  });
});

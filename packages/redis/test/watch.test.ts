/** A watcher misses nothing, even when the hint of a change never arrives (KV-4). */
import type { KvChange, Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisStore } from '../src/index.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

/** Collects the changes that a watcher of everything reports. */
async function collect(store: Store): Promise<KvChange[]> {
  const changes: KvChange[] = [];
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  void (async () => {
    for await (const change of store.kv.watch('', { signal: controller.signal })) changes.push(change);
  })();
  await expect
    .poll(async () => {
      await store.kv.put('warm-up', { v: 1 });
      return changes.length;
    })
    .toBeGreaterThan(0);
  return changes;
}

function shown(changes: readonly KvChange[]): string[] {
  return changes.filter(({ key }) => key !== 'warm-up').map(({ key, type }) => `${type} ${key}`);
}

describe.skipIf(WITHOUT_REDIS)('a watcher', () => {
  it('finds a write of a process that ended before it could send a hint', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    await store.kv.put('there', { v: 1 });
    const changes = await collect(store);
    // A store that is closed at once sends no more hints.
    const other = await redisStore({ url: sharedServer(), prefix });
    await Promise.all([other.kv.put('new', { v: 1 }), other.kv.delete('there')]);
    await other.close();
    await expect.poll(() => shown(changes).sort(), { timeout: 5_000 }).toEqual(['delete there', 'put new']);
  });

  it('reports that a record has expired, whichever process wrote it', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    const other = await openStore(sharedServer(), { prefix });
    const changes = await collect(store);
    await Promise.all([store.kv.put('ours', { v: 1 }, { ttl: 300 }), other.kv.put('theirs', { v: 1 }, { ttl: 300 })]);
    await expect
      .poll(() => shown(changes).sort(), { timeout: 5_000 })
      .toEqual(['expire ours', 'expire theirs', 'put ours', 'put theirs']);
  });

  it('reports the last state of each key after many changes', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    const other = await openStore(sharedServer(), { prefix });
    const changes = await collect(store);
    // More than one hint can name.
    await Promise.all(Array.from({ length: 1_000 }, (_, at) => other.kv.put(`k${at % 500}`, { v: at })));
    const latest = () => new Map(changes.map(({ key, record }) => [key, record?.revision]));
    await expect.poll(() => latest().size, { timeout: 10_000 }).toBe(501);
    const stored = await other.kv.getMany(Array.from({ length: 500 }, (_, at) => `k${at}`));
    await expect
      .poll(() => stored.every((record, at) => latest().get(`k${at}`) === record!.revision), { timeout: 5_000 })
      .toBe(true);
  });
});

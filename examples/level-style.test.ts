/** The Level-style adapter on every engine: bounds, direction, limits, and the number of reads from the store. */
import type { Store } from '@tidemark/core';
import { withRecords } from '@tidemark/core/engine';
import { describe, expect, it } from 'vitest';
import { ENGINES } from '../packages/runtime/test/engines.ts';
import { openStore } from '../packages/runtime/test/stores.ts';
import { neededServers } from '../scripts/servers/index.ts';
import { levelStyle, type Range } from './level-style.ts';

const AVAILABLE = ['memory', 'sqlite', ...neededServers().filter((name) => name in ENGINES)];
const KEYS = Array.from({ length: 300 }, (_, n) => `k${String(n).padStart(3, '0')}`);
const VALUE = 'v'.repeat(2_000);

/** Opens a store, and counts the records that its engine returned, with and without fields. */
async function setUp(engine: string) {
  const read = { keys: 0, values: 0 };
  const store: Store = withRecords(await openStore(engine), (records) => ({
    async scan(space, tenantId, range, call) {
      const found = await records.scan(space, tenantId, range, call);
      read[range.keysOnly ? 'keys' : 'values'] += found.length;
      return found;
    },
  }))!;
  const db = levelStyle(store.kv, 'level.');
  await store.kv.put('level', { value: 'outside' });
  await store.kv.put('level/', { value: 'outside' });
  for (let at = 0; at < KEYS.length; at += 50)
    await Promise.all(KEYS.slice(at, at + 50).map((key) => db.put(key, `${key} ${VALUE}`)));
  const keysOf = (range?: Range) => Array.fromAsync(db.keys(range));
  return { store, db, keysOf, read };
}

describe.each(AVAILABLE)('the Level-style adapter on %s', (engine) => {
  it('puts, gets and deletes values', async () => {
    const { db } = await setUp(engine);
    await db.put('one', '1');
    expect(await db.get('one')).toBe('1');
    await db.del('one');
    expect(await db.get('one')).toBeUndefined();
    await db.del('one');
  });

  it('iterates over bounds in both directions', async () => {
    const { db, keysOf } = await setUp(engine);
    expect(await keysOf()).toEqual(KEYS);
    expect(await keysOf({ reverse: true })).toEqual(KEYS.toReversed());
    expect(await keysOf({ gte: 'k010', lt: 'k012' })).toEqual(['k010', 'k011']);
    expect(await keysOf({ gt: 'k010', lte: 'k012' })).toEqual(['k011', 'k012']);
    expect(await keysOf({ gt: 'k010', lte: 'k012', reverse: true })).toEqual(['k012', 'k011']);
    expect(await keysOf({ lt: 'k100', reverse: true, limit: 2 })).toEqual(['k099', 'k098']);
    expect(await Array.fromAsync(db.iterator({ gte: 'k298' }))).toEqual([
      ['k298', `k298 ${VALUE}`],
      ['k299', `k299 ${VALUE}`],
    ]);
  });

  it('reads no values for keys, and no more records than it yields', async () => {
    const { db, keysOf, read } = await setUp(engine);
    await keysOf({ limit: 10 });
    expect(read).toEqual({ keys: 10, values: 0 });
    read.keys = 0;
    expect(await Array.fromAsync(db.iterator({ reverse: true, limit: 1 }))).toEqual([['k299', `k299 ${VALUE}`]]);
    expect(read).toEqual({ keys: 0, values: 1 });
  });

  it('clears a range without reading values', async () => {
    const { store, db, keysOf, read } = await setUp(engine);
    await db.clear({ gte: 'k010', lt: 'k290' });
    expect(read.values).toBe(0);
    expect(await keysOf()).toEqual([...KEYS.slice(0, 10), ...KEYS.slice(290)]);
    expect(await store.kv.get('level/')).not.toBeNull();
  });
});

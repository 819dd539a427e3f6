/** The Level-style adapter: bounds, direction, limits, and the number of reads from the store. */
import { memoryStore } from '@tidemark/core';
import { withRecords } from '@tidemark/core/engine';
import { afterEach, describe, expect, it } from 'vitest';
import { levelStyle, type Range } from './level-style.ts';

/** Records that the engine returned, with and without fields. */
const read = { keys: 0, values: 0 };
const store = withRecords(memoryStore(), (records) => ({
  async scan(space, tenantId, range, call) {
    const found = await records.scan(space, tenantId, range, call);
    read[range.keysOnly ? 'keys' : 'values'] += found.length;
    return found;
  },
}))!;
const db = levelStyle(store.kv, 'level.');
const KEYS = Array.from({ length: 300 }, (_, n) => `k${String(n).padStart(3, '0')}`);

afterEach(() => {
  read.keys = 0;
  read.values = 0;
});

const keysOf = (range?: Range) => Array.fromAsync(db.keys(range));

describe('the Level-style adapter', () => {
  it('puts, gets and deletes values', async () => {
    await db.put('one', '1');
    expect(await db.get('one')).toBe('1');
    await db.del('one');
    expect(await db.get('one')).toBeUndefined();
    await db.del('one');
  });

  it('iterates over bounds in both directions', async () => {
    await store.kv.put('level', { value: 'outside' });
    await store.kv.put('level/', { value: 'outside' });
    for (const key of KEYS) await db.put(key, `value of ${key}`);
    expect(await keysOf()).toEqual(KEYS);
    expect(await keysOf({ reverse: true })).toEqual(KEYS.toReversed());
    expect(await keysOf({ gte: 'k010', lt: 'k012' })).toEqual(['k010', 'k011']);
    expect(await keysOf({ gt: 'k010', lte: 'k012' })).toEqual(['k011', 'k012']);
    expect(await keysOf({ gt: 'k010', lte: 'k012', reverse: true })).toEqual(['k012', 'k011']);
    expect(await keysOf({ lt: 'k100', reverse: true, limit: 2 })).toEqual(['k099', 'k098']);
    expect(await Array.fromAsync(db.iterator({ gte: 'k298' }))).toEqual([
      ['k298', 'value of k298'],
      ['k299', 'value of k299'],
    ]);
  });

  it('reads no values for keys, and no more records than it yields', async () => {
    await keysOf({ limit: 10 });
    expect(read).toEqual({ keys: 10, values: 0 });
    read.keys = 0;
    expect(await Array.fromAsync(db.iterator({ reverse: true, limit: 1 }))).toEqual([['k299', 'value of k299']]);
    expect(read).toEqual({ keys: 0, values: 1 });
  });

  it('clears a range without reading values', async () => {
    await db.clear({ gte: 'k010', lt: 'k290' });
    expect(read.values).toBe(0);
    expect(await keysOf()).toEqual([...KEYS.slice(0, 10), ...KEYS.slice(290)]);
    expect(await store.kv.get('level/')).not.toBeNull();
  });
});

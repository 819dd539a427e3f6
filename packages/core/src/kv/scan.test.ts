/** Tests the number of records that scans read from the engine. */
import { describe, expect, it } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { ScanRange } from '../engine/records.ts';
import { memoryStore } from '../memory/store.ts';
import { withRecords } from '../store.ts';
import { sleep } from '../tools/sleep.ts';

const COUNT = 300;

async function watched(valueBytes: number) {
  const reads: Pick<ScanRange, 'limit' | 'keysOnly'>[] = [];
  const store = withRecords(memoryStore(), (records) => ({
    scan(space, tenantId, range, call) {
      reads.push({ limit: range.limit, keysOnly: range.keysOnly === true });
      return records.scan(space, tenantId, range, call);
    },
  }))!;
  const value = Buffer.alloc(valueBytes, 'v');
  for (let n = 0; n < COUNT; n++) await store.kv.put(`k${String(n).padStart(3, '0')}`, { n, value });
  const sum = () => reads.reduce((total, { limit }) => total + limit, 0);
  return { store, kv: store.kv, reads, sum };
}

describe('a scan', () => {
  it('reads one record for maxResults 1, and one more for a page of one', async () => {
    const { kv, reads } = await watched(10);
    await Array.fromAsync(kv.scan('k', { maxResults: 1 }));
    await kv.scanPage('k', { limit: 1 });
    await kv.scanPage('k', { limit: 1, keysOnly: true });
    expect(reads).toEqual([
      { limit: 1, keysOnly: false },
      { limit: 2, keysOnly: false },
      { limit: 2, keysOnly: true },
    ]);
  });

  it('reads a few records first when its reader stops early', async () => {
    const { kv, sum } = await watched(10);
    for await (const _ of kv.scan('k')) break;
    expect(sum()).toBeLessThanOrEqual(16);
  });

  it('reads a page of small records in two steps', async () => {
    const { kv, reads } = await watched(10);
    expect((await kv.scanPage('k', { limit: 100 })).items).toHaveLength(100);
    expect(reads.map(({ limit }) => limit)).toEqual([16, 85]);
  });

  it('reads larger steps while a filter drops records', async () => {
    const { kv, reads } = await watched(10);
    await Array.fromAsync(kv.scan('k', { field: 'n', op: 'eq', value: 250, maxResults: 1 }));
    expect(reads.map(({ limit }) => limit)).toEqual([1, 4, 16, 64, 200]);
  });

  it('reads about 4 MiB at a time of large records', async () => {
    const { kv, reads } = await watched(400 * 1024);
    const { items, next } = await kv.scanPage('k', { limit: 200 });
    expect([items.length, next !== undefined]).toEqual([10, true]);
    expect(reads).toEqual([{ limit: 16, keysOnly: false }]);
    reads.length = 0;
    expect((await Array.fromAsync(kv.scan('k'))).length).toBe(COUNT);
    expect(Math.max(...reads.slice(1).map(({ limit }) => limit))).toBe(10);
  });
});

describe('count', () => {
  it('reads no fields without a filter', async () => {
    const { kv, reads } = await watched(10);
    expect(await kv.count('k')).toEqual({ count: COUNT, exact: true });
    expect(reads).toEqual([{ limit: 1_000, keysOnly: true }]);
  });

  it('returns a lower bound when it has used half of its time', async () => {
    const { store } = await watched(10);
    const slow = withRecords(store, (records) => ({
      async scan(...args) {
        await sleep(600);
        return records.scan(...args);
      },
    }))!;
    const filter = { field: 'n', op: 'gte', value: 0 } as const;
    expect(await slow.kv.count('k', { filter, timeoutMs: 2_000 })).toEqual({ count: 216, exact: false });
  });
});

describe('deletePrefix', () => {
  it('returns the finished part when a later group fails, and continues after it', async () => {
    const { store } = await watched(10);
    let groups = 0;
    const failing = withRecords(store, (records) => ({
      async batch(writes, call) {
        if (++groups === 2 || groups === 3) throw new TidemarkError('UNAVAILABLE', 'down');
        return records.batch(writes, call);
      },
    }))!;
    const { deleted, next } = await failing.kv.deletePrefix('k', { limit: 200 });
    expect([deleted, typeof next]).toEqual([50, 'string']);
    await expect(failing.kv.deletePrefix('k', { limit: 200, cursor: next! })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    expect((await store.kv.count('k')).count).toBe(COUNT - 50);
    expect(await failing.kv.deletePrefix('k', { limit: 50, cursor: next! })).toMatchObject({ deleted: 50 });
  });
});

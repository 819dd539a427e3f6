/** Counts with damaged records: exact as long as the damage cannot affect the result. */
import { expect, it, vi } from 'vitest';
import type { ScannedRecord } from '../engine/records.ts';
import { memoryStore } from '../memory/store.ts';
import { withRecords } from '../store.ts';

async function storeWith(damaged: readonly string[]) {
  const store = memoryStore();
  for (const [key, n] of Object.entries({ a: '1', b: '2', c: '2' })) await store.kv.put(key, { n });
  return withRecords(store, (records) => ({
    scan: async (...args) =>
      (await records.scan(...args)).map(
        (it): ScannedRecord => (damaged.includes(it.key) ? { ...it, fields: new Map(), damaged: true } : it),
      ),
  }))!;
}

it('a damaged record counts as existing, and makes a count by its fields inexact', async () => {
  const [whole, damaged] = [await storeWith([]), await storeWith(['b'])];
  const byField = { filter: { field: 'n', op: 'eq', value: '2' } } as const;
  expect(await whole.kv.count('', byField)).toEqual({ count: 2, exact: true });
  expect(await damaged.kv.count('', byField)).toEqual({ count: 1, exact: false });
  for (const store of [whole, damaged]) expect(await store.kv.count('')).toEqual({ count: 3, exact: true });
});

it('a delete of many records rests longer after slower groups, and never longer than a tenth of a second', async () => {
  const store = memoryStore();
  let took = 0;
  let now = 0;
  const rests: number[] = [];
  const elapsed = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const timer = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((end: () => void, ms: number) => {
    rests.push(ms);
    queueMicrotask(end);
  }) as never);
  const slow = withRecords(store, (records) => ({
    batch: async (...args) => {
      now += took;
      return records.batch(...args);
    },
  }))!;
  try {
    for (const ms of [6, 12, 50]) {
      took = ms;
      for (let n = 0; n < 100; n++) await store.kv.put(`k${n}`, { n });
      expect(await slow.kv.deletePrefix('k')).toEqual({ deleted: 100 });
    }
  } finally {
    elapsed.mockRestore();
    timer.mockRestore();
  }
  expect([...new Set(rests)]).toEqual([30, 60, 100]);
});

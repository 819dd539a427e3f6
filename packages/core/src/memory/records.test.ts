import { expect, it } from 'vitest';
import { StoreContext } from '../tools/context.ts';
import { memoryRecords } from './records.ts';

it('removes expired records up to a limit and keeps the others', async () => {
  let now = 1_000;
  const records = memoryRecords(new StoreContext({ clock: () => now }));
  const put = (key: string, ttlMs: number | null) => {
    const set = new Map([['a', Buffer.from('1')]]);
    return records.write({ name: { space: 'kv', tenantId: 't', key }, mode: 'replace', set, ttlMs });
  };
  for (const key of ['a', 'b', 'c']) await put(key, 100);
  await put('later', 1_000);
  await put('stays', null);
  expect(await records.removeExpired(10)).toBe(0);
  now += 100;
  expect([await records.removeExpired(2), await records.removeExpired(2), await records.removeExpired(2)]).toEqual([
    2, 1, 0,
  ]);
  const left = await records.scan('kv', 't', { prefix: '', after: null, limit: 10 });
  expect(left.map(({ key }) => key)).toEqual(['later', 'stays']);
});

/** Ranges of keys: bounds, direction, key-only scans, pages by size, counting and deleting (KV-4). */
import type { KvStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { all, allPages, pageSizes, upTo } from '../iterate.ts';

async function fill({ tenant: { kv } }: Bench, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => kv.put(key, { key })));
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const keysOf = (items: readonly { key: string }[]) => items.map(({ key }) => key);

/** Keys whose order by bytes, by UTF-16 units and by collation differ, and that engines may mistake for patterns. */
const HOSTILE = [
  ...['a', 'a%', 'a_', 'a*', 'a.', 'a.b', 'a:b', 'a\u007f', 'aa', 'a\ufffd', 'a\u{10000}', 'a🌊', 'a🌊b', 'aé'],
  ...['A', 'b', 'B', '{a}', '(a', '[a', '+', '-', 'ÿ', '\ufffd', '\u{10ffff}', '\u{10ffff}x'],
].sort(byBytes);

interface Bounds {
  prefix: string;
  from?: string;
  to?: string;
}

function within({ prefix, from, to }: Bounds): string[] {
  const isWithin = (key: string) =>
    key.startsWith(prefix) && (!from || byBytes(key, from) >= 0) && (!to || byBytes(key, to) < 0);
  return HOSTILE.filter(isWithin);
}

const RANGES: readonly Bounds[] = [
  { prefix: '', from: 'a' },
  { prefix: '', to: 'a' },
  { prefix: '', from: 'a%', to: 'a🌊' },
  { prefix: '', from: 'a\ufffd', to: 'a🌊b' },
  { prefix: '', from: 'not stored', to: 'ÿ' },
  { prefix: '', from: 'b', to: 'a' },
  { prefix: '', from: 'a', to: 'a' },
  { prefix: 'a', from: 'A', to: 'b' },
  { prefix: 'a', from: 'a.', to: '\u{10ffff}' },
  { prefix: 'a🌊', to: 'a🌊b' },
  { prefix: 'b', from: 'c' },
  { prefix: 'b', to: 'a' },
  { prefix: '\u{10ffff}' },
  { prefix: '\u{10ffff}', from: '\u{10ffff}x' },
  { prefix: '(', from: '(' },
];

async function pagedKeys(kv: KvStore, { prefix, ...range }: Bounds, reverse: boolean, limit: number) {
  return keysOf(await allPages((cursor) => kv.scanPage(prefix, { ...range, reverse, limit, cursor })));
}

const LARGE = 256 * 1024;
const PAGE_BYTES = 4 * 1024 * 1024;

export const RANGE_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/scan-ranges',
    title: 'from is inclusive, to is exclusive, both within the prefix, in either direction and in pages of any size',
    proves: ['KV-4', 'GEN-5'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(bench, HOSTILE);
      for (const bounds of RANGES) {
        const { prefix, ...range } = bounds;
        const expected = within(bounds);
        for (const reverse of [false, true]) {
          const what = `${JSON.stringify(bounds)}${reverse ? ' in reverse' : ''}`;
          const wanted = reverse ? expected.toReversed() : expected;
          expectEqual(keysOf(await all(kv.scan(prefix, undefined, { ...range, reverse }))), wanted, what);
          for (const limit of [1, 2, 100])
            expectEqual(await pagedKeys(kv, bounds, reverse, limit), wanted, `${what} in pages of ${limit}`);
        }
      }
    },
  }),
  kvCase({
    id: 'kv/scan-reverse-long',
    title: 'a reverse scan yields every key once past internal pages, even with a filter and maxResults',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      const keys = upTo(450).map((n) => `k${String(n).padStart(4, '0')}`);
      await fill(bench, keys);
      const descending = keys.toReversed();
      expectEqual(keysOf(await all(kv.scan('k', undefined, { reverse: true }))), descending, 'the whole scan');
      const low = { field: 'key', op: 'lte', value: 'k0020' } as const;
      expectEqual(keysOf(await all(kv.scan('k', low, { reverse: true }))), descending.slice(430), 'a filter');
      const three = await all(kv.scan('k', { ...low, maxResults: 3 }, { reverse: true }));
      expectEqual(keysOf(three), ['k0020', 'k0019', 'k0018'], 'the highest matches come first');
      const paged = await allPages((cursor) =>
        kv.scanPage('k', { cursor, limit: 2, reverse: true, filter: { ...low, maxResults: 5 } }),
      );
      expectEqual(keysOf(paged), descending.slice(430, 435), 'maxResults counts over all pages');
    },
  }),
  kvCase({
    id: 'kv/scan-keys-only',
    title: 'a scan with keysOnly returns no records, and the same keys as a scan of records',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(bench, HOSTILE);
      await kv.delete('aa');
      const left = HOSTILE.filter((key) => key !== 'aa');
      const alone = left.map((key) => ({ key }));
      expectEqual(await all(kv.scan('', undefined, { keysOnly: true })), alone, 'keys, and nothing else');
      expectEqual(
        await all(kv.scan('', undefined, { keysOnly: true, reverse: true })),
        alone.toReversed(),
        'in reverse',
      );
      const filter = { field: 'key', op: 'in', value: ['b', 'aa', 'a%'] } as const;
      const matching = [{ key: 'a%' }, { key: 'b' }];
      expectEqual(await all(kv.scan('', filter, { keysOnly: true })), matching, 'a filter still reads the records');
      expectEqual(
        await allPages((cursor) => kv.scanPage('', { cursor, limit: 3, keysOnly: true })),
        alone,
        'pages have keys alone',
      );
      await kv.put('aa', { a: '1' }, { ttl: 1 });
      await bench.pass(50);
      expectEqual(await all(kv.scan('', undefined, { keysOnly: true })), alone, 'an expired key is not yielded');
    },
  }),
  kvCase({
    id: 'kv/scan-cursors-keep-direction',
    title: 'a cursor only continues a scan in the same direction; range options are checked',
    proves: ['KV-4', 'GEN-1'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(bench, ['k1', 'k2', 'k3', 'k4']);
      const ahead = (await kv.scanPage('k', { limit: 2 })).next!;
      const back = (await kv.scanPage('k', { limit: 2, reverse: true })).next!;
      const deleting = (await kv.deletePrefix('k4', { limit: 1 })).next;
      expectEqual(deleting, undefined, 'the last step of a delete has no cursor');
      const step = (await kv.deletePrefix('k', { from: 'k2', limit: 1 })).next!;
      const refusals: [string, () => Promise<unknown>][] = [
        ['a reverse scan refuses a forward cursor', () => kv.scanPage('k', { cursor: ahead, reverse: true })],
        ['a forward scan refuses a reverse cursor', () => kv.scanPage('k', { cursor: back })],
        ['a scan refuses the cursor of a delete', () => kv.scanPage('k', { cursor: step })],
        ['a delete refuses the cursor of a scan', () => kv.deletePrefix('k', { cursor: ahead })],
        ['from is a key', () => kv.scanPage('', { from: '' })],
        ['to is a key', () => kv.scanPage('', { to: 'a\0' })],
        ['from is text', () => kv.count('', { from: 7 as never })],
        ['to has at most 512 bytes', () => kv.deletePrefix('k', { to: 'x'.repeat(513) })],
        ['reverse is a boolean', () => kv.scanPage('', { reverse: 'yes' as never })],
        ['keysOnly is a boolean', () => kv.scanPage('', { keysOnly: 1 as never })],
        ['an empty prefix is not deleted', () => kv.deletePrefix('')],
        ['a delete has a limit of at most 1 000', () => kv.deletePrefix('k', { limit: 1_001 })],
      ];
      for (const [what, call] of refusals) await expectCode('INVALID_ARGUMENT', what, call);
      expectEqual(keysOf(await all(kv.scan('k'))), ['k1', 'k3'], 'refused deletes delete nothing');
    },
  }),
  kvCase({
    id: 'kv/pages-end-by-bytes',
    title: 'a page ends after about 4 MiB of values and continues with next; one record always fits',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      const keys = upTo(24).map((n) => `large.${String(n).padStart(2, '0')}`);
      const value = Buffer.alloc(LARGE, 'v');
      for (const key of keys) await kv.put(key, { value });
      for (const reverse of [false, true]) {
        const sizes = await pageSizes((cursor) => kv.scanPage('large.', { cursor, reverse, limit: 1_000 }));
        expectEqual(
          sizes.reduce((sum, size) => sum + size, 0),
          keys.length,
          'all records are on some page',
        );
        expect(Math.max(...sizes) * LARGE <= PAGE_BYTES, `no page is larger than 4 MiB: ${sizes}`);
        expect(Math.min(...sizes) > 0, 'no page is empty');
      }
      const { items, next } = await kv.scanPage('large.', { keysOnly: true });
      expectEqual([keysOf(items), next], [keys, undefined], 'keys alone have no size');
    },
  }),
  kvCase({
    id: 'kv/count',
    title: 'count returns how many records a scan would yield, and reports when there may be more',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(bench, HOSTILE);
      for (const bounds of RANGES) {
        const { prefix, ...range } = bounds;
        const expected = { count: within(bounds).length, exact: true };
        expectEqual(await kv.count(prefix, range), expected, JSON.stringify(bounds));
      }
      const filter = { field: 'key', op: 'in', value: ['a', 'b', 'aa'] } as const;
      expectEqual(await kv.count('', { filter }), { count: 3, exact: true }, 'a filter');
      expectEqual(await kv.count('', { filter, from: 'aa' }), { count: 2, exact: true }, 'a filter in a range');
      expectEqual(await kv.count('', { filter: { maxResults: 4 } }), { count: 4, exact: false }, 'at least 4');
      await kv.put('aa', { a: '1' }, { ttl: 1 });
      await bench.pass(50);
      expectEqual((await kv.count('')).count, HOSTILE.length - 1, 'expired records are not counted');
    },
  }),
  kvCase({
    id: 'kv/delete-prefix-in-steps',
    title: 'deletePrefix deletes the records of a range in bounded steps and leaves all others',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(bench, HOSTILE);
      const steps: number[] = [];
      let cursor: string | undefined;
      do {
        const { deleted, next } = await kv.deletePrefix('a', { from: 'a.', to: 'a\u{10000}', cursor, limit: 3 });
        steps.push(deleted);
        cursor = next;
      } while (cursor !== undefined);
      const gone = within({ prefix: 'a', from: 'a.', to: 'a\u{10000}' });
      expectEqual(steps, [3, 3, gone.length - 6], 'each step deletes up to its limit');
      const left = HOSTILE.filter((key) => !gone.includes(key));
      expectEqual(keysOf(await all(kv.scan(''))), left, 'the other records stay');
      expectEqual(
        await kv.deletePrefix('a', { from: 'a.', to: 'a\u{10000}' }),
        { deleted: 0 },
        'nothing is left to delete',
      );
      expectEqual(await kv.delete('a.b'), false, 'a deleted record is gone');
      const whole = await kv.deletePrefix('a');
      expectEqual(whole.deleted, left.filter((key) => key.startsWith('a')).length, 'without a range');
    },
  }),
  kvCase({
    id: 'kv/delete-prefix-passes-once',
    title: 'a record that is written after its key was passed survives the following steps',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      const other = (await bench.peer()).forTenant(bench.tenantId).kv;
      await fill(
        bench,
        upTo(6).map((n) => `k${n}`),
      );
      const { deleted, next } = await kv.deletePrefix('k', { limit: 3 });
      expectEqual([deleted, typeof next], [3, 'string'], 'the first step deletes three');
      await other.put('k1', { again: 'yes' });
      await other.delete('k5');
      const rest = await kv.deletePrefix('k', { cursor: next!, limit: 100 });
      expectEqual(rest, { deleted: 2 }, 'the second step deletes those that are left');
      expectEqual(keysOf(await all(other.scan('k'))), ['k1'], 'the new record survives');
    },
  }),
];

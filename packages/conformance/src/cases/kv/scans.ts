/** Scans: prefix as text, byte order and pages (003 scan; KV-4, KV-6). */
import type { ScanFilter } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { allPages, pageSizes, upTo } from '../iterate.ts';
import { scanKeys } from './fields.ts';

async function fill(bench: Bench, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => bench.tenant.kv.put(key, { key })));
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

export const SCAN_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/scan-in-byte-order',
    title: 'scans return keys in byte order, which is not UTF-16 order',
    proves: ['KV-4', 'GEN-5', '003 scan'],
    async run(bench) {
      const keys = [
        'b',
        'a',
        'B',
        'aa',
        'a.',
        'a-',
        'é',
        'z',
        'ÿ',
        '\ufffd',
        '\u{10000}',
        '🌊',
        '\ue000',
        '10',
        '9',
        ' ',
        '\u007f',
        '~',
      ];
      await fill(bench, keys);
      expectEqual(
        await scanKeys(bench.tenant, ''),
        keys.toSorted(byBytes),
        'U+FFFD comes before U+10000, B before a, 10 before 9',
      );
    },
  }),
  kvCase({
    id: 'kv/scan-gives-records',
    title: 'a scan returns each key with its whole record; an empty prefix matches all, an unknown one none',
    proves: ['003 scan', 'KV-4'],
    async run(bench) {
      await bench.tenant.kv.put('gbe.state.tasks.email.1', { state: 'pending', n: 1 }, { ttl: '1h' });
      await bench.tenant.kv.put('gbe.state.tasks.sms.1', { state: 'running' });
      const seen: unknown[] = [];
      for await (const { key, record } of bench.tenant.kv.scan('gbe.state.tasks.email.')) {
        expect(record.ttl !== undefined && record.revision > 0, 'entries have TTL and revision');
        seen.push([key, Object.keys(record.fields).sort()]);
      }
      expectEqual(
        seen,
        [['gbe.state.tasks.email.1', ['n', 'state']]],
        'only keys that start with the prefix, with all fields',
      );
      expectEqual((await scanKeys(bench.tenant, '')).length, 2, 'an empty prefix matches every key');
      expectEqual(await scanKeys(bench.tenant, 'gbe.state.jobs.'), [], 'an unknown prefix matches nothing');
      expectEqual(
        await scanKeys(bench.tenant, 'gbe.state.tasks.sms.1'),
        ['gbe.state.tasks.sms.1'],
        'a whole key is a prefix of itself',
      );
    },
  }),
  kvCase({
    id: 'kv/prefix-is-text',
    title: 'wildcard characters of engines are plain text in a prefix',
    proves: ['KV-6', 'GEN-5'],
    async run(bench) {
      const keys = [
        'a%b',
        'axb',
        'a_b',
        'a*b',
        'a?b',
        'a[x]b',
        'a\\b',
        'a{x}b',
        'A%B',
        'a.b',
        'a:b',
        'ab',
        'a',
        "a'b",
        'a\ufffdb',
        'a🌊b',
        'a>b',
        'a^b',
      ];
      await fill(bench, keys);
      for (const prefix of [
        'a',
        'a%',
        'a_',
        'a*',
        'a?',
        'a[',
        'a[x]',
        'a\\',
        'a{',
        'A',
        'a.',
        'a:',
        "a'",
        'a\ufffd',
        'a🌊',
        'a>',
        '%',
        '*',
        'a^',
      ]) {
        const expected = keys.filter((it) => it.startsWith(prefix)).sort(byBytes);
        expectEqual(await scanKeys(bench.tenant, prefix), expected, `${JSON.stringify(prefix)} matches as text`);
        const paged = await allPages((cursor) =>
          bench.tenant.kv.scanPage(prefix, { limit: 2, ...(cursor === undefined ? {} : { cursor }) }),
        );
        expectEqual(
          paged.map((it) => it.key),
          expected,
          'in pages too',
        );
      }
      for (const prefix of ['a\0', '\ud800', 'x'.repeat(513), 7 as never, null as never]) {
        await expectCode('INVALID_ARGUMENT', 'the prefix is invalid', () => scanKeys(bench.tenant, prefix));
      }
    },
  }),
  kvCase({
    id: 'kv/pages-join-without-loss',
    title: 'pages of any size together form the whole scan; limits outside 1 to 1 000 and foreign cursors are rejected',
    proves: ['KV-4'],
    async run(bench) {
      const keys = upTo(23)
        .map((n) => `k${n}🌊`)
        .sort(byBytes);
      await fill(bench, keys);
      for (const limit of [1, 5, 22, 23, 24, 1_000]) {
        const paged = await allPages((cursor) =>
          bench.tenant.kv.scanPage('k', { limit, ...(cursor === undefined ? {} : { cursor }) }),
        );
        expectEqual(
          paged.map((it) => it.key),
          keys,
          `pages of ${limit} return each key once, in order`,
        );
      }
      const { items, next } = await bench.tenant.kv.scanPage('k', { limit: 23 });
      expectEqual([items.length, next], [23, undefined], 'the last page has no next, even when it is full');
      for (const limit of [0, -1, 1.5, 1_001]) {
        await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () =>
          bench.tenant.kv.scanPage('k', { limit }),
        );
      }
      await expectCode('INVALID_ARGUMENT', 'a foreign cursor is refused', () =>
        bench.tenant.kv.scanPage('k', { cursor: 'nonsense' }),
      );
    },
  }),
  kvCase({
    id: 'kv/default-page-is-a-hundred',
    title: 'scanPage returns a hundred records by default, and scans continue past any internal page',
    proves: ['KV-4'],
    async run(bench) {
      const keys = upTo(450).map((n) => `k${String(n).padStart(4, '0')}`);
      await fill(bench, keys);
      const { items, next } = await bench.tenant.kv.scanPage('k');
      expectEqual([items.length, typeof next], [100, 'string'], 'the page has a hundred records and a cursor');
      expectEqual(await scanKeys(bench.tenant, 'k'), keys, 'the iterator yields all records');
    },
  }),
  kvCase({
    id: 'kv/full-last-pages',
    title: 'a scan whose last page is exactly full has no further page, even past internal pages and with a filter',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      await fill(
        bench,
        upTo(400).map((n) => `k${String(n).padStart(3, '0')}`),
      );
      const sizes = (limit: number, filter: ScanFilter) =>
        pageSizes((cursor) => kv.scanPage('k', { limit, filter, ...(cursor === undefined ? {} : { cursor }) }));
      expectEqual(await sizes(400, {}), [400], 'one page');
      expectEqual(await sizes(200, {}), [200, 200], 'two pages');
      expectEqual(await sizes(100, {}), [100, 100, 100, 100], 'four pages');
      const first = { field: 'key', op: 'lte', value: 'k200' } as const;
      expectEqual(await sizes(100, first), [100, 100], 'matches that end where a page does');
      const last = { field: 'key', op: 'gt', value: 'k200' } as const;
      expectEqual(await sizes(200, last), [200], 'matches that begin after an internal page');
    },
  }),
];

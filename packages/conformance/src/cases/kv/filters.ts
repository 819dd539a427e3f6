/** Filters of scans: operators, numeric order and limits (003 ScanFilter; KV-4, KV-5). */
import type { KvPredicate, ScanFilter } from '@tidemark/core';
import { expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { allPages, pageSizes, upTo } from '../iterate.ts';
import { scanKeys } from './fields.ts';

/** Stores one record per value, by name. */
async function fillValues(bench: Bench, values: Record<string, string | number | bigint>): Promise<void> {
  for (const [key, v] of Object.entries(values)) await bench.tenant.kv.put(key, { v });
}

export const FILTER_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/filter-operators',
    title: 'supports eq, ne, lt, gt, lte, gte and in; a record without the field matches only ne',
    proves: ['KV-4', '003 ScanFilter'],
    async run(bench) {
      await fillValues(bench, { a: 'apple', b: 'banana', c: 'cherry', e: '' });
      await bench.tenant.kv.put('none', { other: '1' });
      const tries: [KvPredicate, string[]][] = [
        [{ field: 'v', op: 'eq', value: 'banana' }, ['b']],
        [{ field: 'v', op: 'eq', value: '' }, ['e']],
        [{ field: 'v', op: 'ne', value: 'banana' }, ['a', 'c', 'e', 'none']],
        [{ field: 'v', op: 'lt', value: 'banana' }, ['a', 'e']],
        [{ field: 'v', op: 'lte', value: 'banana' }, ['a', 'b', 'e']],
        [{ field: 'v', op: 'gt', value: 'banana' }, ['c']],
        [{ field: 'v', op: 'gte', value: 'banana' }, ['b', 'c']],
        [{ field: 'v', op: 'in', value: ['cherry', 'apple', 'nothing'] }, ['a', 'c']],
        [{ field: 'v', op: 'in', value: [] }, []],
        [{ field: 'toString', op: 'eq', value: 'x' }, []],
      ];
      for (const [predicate, expected] of tries) {
        const shown = `${predicate.op} ${JSON.stringify(predicate.value)}`;
        expectEqual(
          await scanKeys(bench.tenant, '', predicate),
          expected,
          `${shown} matches ${expected.join(', ') || 'nothing'}`,
        );
        expectEqual(
          await scanKeys(bench.tenant, '', { where: [predicate] }),
          expected,
          'the predicate matches the same keys in a list of predicates',
        );
      }
      await expectCode('INVALID_ARGUMENT', 'an operator that does not exist is refused', () =>
        scanKeys(bench.tenant, '', { field: 'v', op: 'like' as never, value: 'a' }),
      );
    },
  }),
  kvCase({
    id: 'kv/filter-compares-integers-as-numbers',
    title: 'the order is numeric if both sides are integers of any size, otherwise bytewise',
    proves: ['KV-5', '003 Sweeper scan'],
    async run(bench) {
      const huge = 10n ** 40n;
      await fillValues(bench, {
        nine: 9,
        ten: 10,
        minus: -5,
        minus10: -10,
        zero: 0,
        huge,
        bigger: huge + 1n,
        padded: '007',
        float: '9.5',
        text: 'ten',
      });
      const matching = (predicate: KvPredicate) => scanKeys(bench.tenant, '', predicate);
      expectEqual(
        await matching({ field: 'v', op: 'lt', value: 10 }),
        ['minus', 'minus10', 'nine', 'padded', 'zero'],
        '9 is below 10 as a number; "9.5" is above "10" as text, "007" below',
      );
      expectEqual(await matching({ field: 'v', op: 'lt', value: -5 }), ['minus10'], '-10 is below -5');
      expectEqual(
        await matching({ field: 'v', op: 'gt', value: huge }),
        ['bigger', 'float', 'text'],
        'integers beyond 2^53 are compared exactly',
      );
      expectEqual(
        await matching({ field: 'v', op: 'gte', value: huge }),
        ['bigger', 'float', 'huge', 'text'],
        'gte includes equal values',
      );
      expectEqual(await matching({ field: 'v', op: 'gt', value: 'a' }), ['text'], 'text against text is bytewise');
      expectEqual(await matching({ field: 'v', op: 'eq', value: 7 }), [], 'equality is of bytes: 007 is not 7');
    },
  }),
  kvCase({
    id: 'kv/filters-hold-together',
    title: 'all predicates must hold: the sweeper’s query in one scan',
    proves: ['KV-4', '003 Sweeper scan', '003 ScanFilter'],
    async run(bench) {
      const states = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled'];
      for (const [n, state] of states.entries()) {
        await bench.tenant.kv.put(`gbe.state.tasks.t.old-${n}`, { state, updated_at: 999 });
        await bench.tenant.kv.put(`gbe.state.tasks.t.new-${n}`, { state, updated_at: 1_700 });
      }
      const stuck: ScanFilter = {
        where: [
          { field: 'state', op: 'in', value: ['claimed', 'running'] },
          { field: 'updated_at', op: 'lt', value: 1_000 },
        ],
      };
      expectEqual(
        await scanKeys(bench.tenant, 'gbe.state.tasks.', stuck),
        ['gbe.state.tasks.t.old-1', 'gbe.state.tasks.t.old-2'],
        'old and not terminal',
      );
    },
  }),
  kvCase({
    id: 'kv/max-results-counts-matches',
    title: 'maxResults counts matching records, not examined ones',
    proves: ['KV-4', '003 ScanFilter'],
    async run(bench) {
      for (const n of upTo(12))
        await bench.tenant.kv.put(`k${String(n).padStart(2, '0')}`, { even: String(n % 2 === 0) });
      const filter: ScanFilter = { field: 'even', op: 'eq', value: 'true', maxResults: 3 };
      expectEqual(
        await scanKeys(bench.tenant, 'k', filter),
        ['k02', 'k04', 'k06'],
        'three matches, however many records were examined',
      );
      expectEqual(
        await scanKeys(bench.tenant, 'k', { where: [], maxResults: 2 }),
        ['k01', 'k02'],
        'also without predicates',
      );
      const page = await bench.tenant.kv.scanPage('k', {
        limit: 4,
        filter: { field: 'even', op: 'eq', value: 'true' },
      });
      expectEqual(
        page.items.map((it) => it.key),
        ['k02', 'k04', 'k06', 'k08'],
        'a page’s limit counts matches too',
      );
      for (const maxResults of [0, -1, 1.5]) {
        await expectCode('INVALID_ARGUMENT', `maxResults ${maxResults} is refused`, () =>
          scanKeys(bench.tenant, 'k', { where: [], maxResults }),
        );
      }
    },
  }),
  kvCase({
    id: 'kv/max-results-over-pages',
    title: 'maxResults counts over all pages of a scan and ends it',
    proves: ['KV-4'],
    async run(bench) {
      const { kv } = bench.tenant;
      const keys = upTo(30).map((n) => `k${String(n).padStart(2, '0')}`);
      await Promise.all(keys.map((key, n) => kv.put(key, { even: String(n % 2 === 1) })));
      const paged = async (limit: number, filter: ScanFilter) => {
        const page = (cursor: string | undefined) => kv.scanPage('k', { limit, filter, cursor });
        return [await pageSizes(page), (await allPages(page)).map((it) => it.key)];
      };
      const even: ScanFilter = { field: 'even', op: 'eq', value: 'true' };
      const matches = keys.filter((_, n) => n % 2 === 1);
      expectEqual(await paged(10, { where: [], maxResults: 25 }), [[10, 10, 5], keys.slice(0, 25)], 'of all records');
      expectEqual(
        await paged(10, { where: [], maxResults: 20 }),
        [[10, 10], keys.slice(0, 20)],
        'maxResults limits the matches of whole pages',
      );
      expectEqual(await paged(10, { where: [], maxResults: 10 }), [[10], keys.slice(0, 10)], 'of one page');
      expectEqual(await paged(4, { ...even, maxResults: 9 }), [[4, 4, 1], matches.slice(0, 9)], 'of matches');
      expectEqual(
        await paged(4, { ...even, maxResults: 99 }),
        [[4, 4, 4, 3], matches],
        'a maxResults above the number of matches returns all of them',
      );
    },
  }),
];

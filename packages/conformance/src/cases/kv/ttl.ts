/** Time to live: in milliseconds, absolute once set, and expired everywhere from that millisecond (KV-2, KV-9). */
import { expect, expectCode, expectEqual, expectNewRevision } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { exactStopwatch, stopwatch } from '../stopwatch.ts';
import { readTexts, scanKeys } from './fields.ts';

/** Long enough for a slow machine to read it in time, and short enough to wait for. */
const SHORT_MS = 400;

/** Lets exactly the remaining time of the record pass. */
async function outlive(bench: Bench, key: string): Promise<void> {
  const ttl = (await bench.tenant.kv.get(key))?.ttl;
  if (ttl !== undefined) await bench.pass(ttl);
}

export const TTL_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/ttl-is-milliseconds-left',
    title: 'get returns the milliseconds left, for numeric and textual durations',
    proves: ['KV-1', 'KV-2', '003 Record', 'GEN-2'],
    async run(bench) {
      for (const [ttl, ms] of [
        [90_000, 90_000],
        ['90s', 90_000],
        ['250ms', 250],
        ['15m', 900_000],
        ['1h', 3_600_000],
        ['7d', 604_800_000],
      ] as const) {
        await bench.tenant.kv.put('k', { a: '1' }, { ttl });
        const left = (await bench.tenant.kv.get('k'))?.ttl;
        expect(
          left === undefined ? ms < 1_000 : left > ms - 2_000 && left <= ms && left > 0,
          `of ${ttl} there are ${left} ms left`,
        );
      }
      for (const ttl of [
        0,
        -1,
        1.5,
        Number.NaN,
        Number.POSITIVE_INFINITY,
        '',
        '5',
        '1.5s',
        '-1s',
        '1 h',
        'soon',
        1e15,
      ]) {
        await expectCode('INVALID_ARGUMENT', `ttl ${ttl} is refused`, () =>
          bench.tenant.kv.put('bad', { a: '1' }, { ttl }),
        );
      }
      expectEqual(await bench.tenant.kv.get('bad'), null, 'nothing was written');
    },
  }),
  kvCase({
    id: 'kv/expired-is-invisible-everywhere',
    title: 'an expired record is gone from get, fields, lists, scans and swaps from that millisecond onwards',
    proves: ['KV-2', '003 put'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const fresh = stopwatch(SHORT_MS);
      await kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await kv.put('stays', { a: '1' });
      const before = await kv.get('k');
      expect(before !== null || !fresh(), 'the record exists before its expiry');
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'get finds nothing');
      expectEqual(await kv.getField('k', 'a'), null, 'getField finds nothing');
      expectEqual(
        (await kv.getMany(['k', 'stays'])).map((it) => it !== null),
        [false, true],
        'getMany finds nothing',
      );
      expectEqual(await scanKeys(bench.tenant, ''), ['stays'], 'scan does not return it');
      expectEqual(
        (await kv.scanPage('')).items.map((it) => it.key),
        ['stays'],
        'pages do not return it',
      );
      expectEqual(await kv.compareAndSwap('k', 'a', '1', '2'), false, 'its old value cannot be swapped');
      expectEqual(await kv.touch('k', '1h'), false, 'an expired record cannot be touched');
      expectEqual(
        (await kv.setField('k', 'a', '2', { ifExists: true })).written,
        false,
        'an expired record cannot be written with ifExists',
      );
      expectEqual(await kv.delete('k'), false, 'there is nothing to delete');
      expectEqual(await kv.compareAndSwap('k', 'a', null, 'new'), true, 'a swap sees its field as absent');
      expectEqual(await readTexts(bench.tenant, 'k'), { a: 'new' }, 'the new record has nothing of the old one');
      expectEqual((await kv.get('k'))?.ttl, undefined, 'the new record has no TTL');
    },
  }),
  kvCase({
    id: 'kv/gone-at-its-millisecond',
    title: 'a record exists a millisecond before its TTL expires and is gone when it does',
    proves: ['KV-2'],
    async run(bench) {
      const { kv } = bench.tenant;
      const isFresh = await exactStopwatch(bench, SHORT_MS);
      await kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await bench.pass(SHORT_MS - 1);
      const [record, field, keys] = [await kv.get('k'), await kv.getField('k', 'a'), await scanKeys(bench.tenant, 'k')];
      if (await isFresh()) {
        expectEqual(
          [record !== null, field !== null, keys],
          [true, true, ['k']],
          'a millisecond before its expiry the record exists',
        );
        expect((record?.ttl ?? 0) >= 1, 'the record has at least a millisecond left');
      }
      await bench.pass(1);
      expectEqual(
        [await kv.get('k'), await kv.getField('k', 'a'), await scanKeys(bench.tenant, 'k')],
        [null, null, []],
        'at its millisecond the record is gone',
      );
      expectEqual(await kv.delete('k'), false, 'there is nothing to delete');
    },
  }),
  kvCase({
    id: 'kv/not-gone-before-its-time',
    title: 'a record exists until its TTL has expired',
    proves: ['KV-2'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1' }, { ttl: '1h' });
      const left = (await bench.tenant.kv.get('k'))?.ttl;
      expect(left, 'the record shows its remaining time');
      const fresh = stopwatch(SHORT_MS);
      await bench.tenant.kv.put('short', { a: '1' }, { ttl: SHORT_MS });
      await bench.pass(SHORT_MS / 4);
      const record = await bench.tenant.kv.get('short');
      expect(record || !fresh(), 'after a quarter of its time the record exists');
      expect(!record || (record.ttl ?? 0) <= SHORT_MS - SHORT_MS / 4, 'at most three quarters of its time are left');
    },
  }),
  kvCase({
    id: 'kv/put-clears-an-old-ttl',
    title: 'put without ttl clears an existing TTL',
    proves: ['KV-2'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await bench.tenant.kv.put('k', { a: '2' });
      expectEqual((await bench.tenant.kv.get('k'))?.ttl, undefined, 'the record has no TTL');
      await bench.pass(SHORT_MS);
      expectEqual(await readTexts(bench.tenant, 'k'), { a: '2' }, 'the record does not expire');
    },
  }),
  kvCase({
    id: 'kv/field-writes-keep-the-ttl',
    title: 'setField, setFields and swaps keep the TTL: it is absolute once set',
    proves: ['KV-2', 'KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const fresh = stopwatch(SHORT_MS);
      await kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await bench.pass(20);
      await kv.setField('k', 'a', '2', { ifExists: true });
      await kv.setFields('k', { b: '3' }, { ifExists: true });
      await kv.swap('k', { expected: { a: '2' }, set: { a: '4' } });
      await kv.compareAndSwap('k', 'a', '4', '5');
      const left = (await kv.get('k'))?.ttl;
      expect(
        !fresh() || (left !== undefined && left <= SHORT_MS - 20),
        'field writes neither clear nor extend the TTL',
      );
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'the record expires at its original time');
    },
  }),
  kvCase({
    id: 'kv/touch-sets-and-clears-the-ttl',
    title: 'touch sets a new TTL or clears it, and reports whether the record exists',
    proves: ['KV-4', '003 ttl'],
    async run(bench) {
      const kv = bench.tenant.kv;
      expectEqual(await kv.touch('missing', '1h'), false, 'there is nothing to touch');
      expectEqual(await kv.get('missing'), null, 'touching creates nothing');
      await kv.put('k', { a: '1' });
      expectEqual(await kv.touch('k', '1h'), true, 'a record is touched');
      const left = (await kv.get('k'))?.ttl;
      expect(left !== undefined && left <= 3_600_000 && left > 3_590_000, 'the record has the new TTL');
      expectEqual(await kv.touch('k', null), true, 'null clears it');
      expectEqual((await kv.get('k'))?.ttl, undefined, 'the record does not expire');
      await kv.touch('k', SHORT_MS);
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'a short TTL expires it');
      for (const ttl of [0, -5, '', 'x', undefined as never]) {
        await expectCode('INVALID_ARGUMENT', `ttl ${ttl} is refused`, () => kv.touch('k', ttl));
      }
    },
  }),
  kvCase({
    id: 'kv/swap-may-change-the-ttl',
    title: 'swap sets a TTL, clears it with null, and keeps it otherwise',
    proves: ['KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      await kv.put('k', { a: '1' });
      await kv.swap('k', { expected: { a: '1' }, set: { a: '2' }, ttl: '1h' });
      expect((await kv.get('k'))?.ttl !== undefined, 'a swap can set a TTL');
      await kv.swap('k', { expected: { a: 'wrong' }, set: { a: '3' }, ttl: null });
      expect((await kv.get('k'))?.ttl !== undefined, 'a failed swap keeps the TTL');
      await kv.swap('k', { expected: { a: '2' }, set: { a: '3' }, ttl: null });
      expectEqual((await kv.get('k'))?.ttl, undefined, 'null clears it');
    },
  }),
  kvCase({
    id: 'kv/revision-does-not-repeat-after-expiry',
    title: 'a record written again after it expired has a new revision',
    proves: ['KV-1', 'KV-2'],
    async run(bench) {
      const first = await bench.tenant.kv.put('k', { a: '1' }, { ttl: 60 });
      await bench.pass(60);
      const second = await bench.tenant.kv.put('k', { a: '1' });
      expectNewRevision(bench.store, second.revision, first.revision!, 'the new record has a different revision');
      const { swapped } = await bench.tenant.kv.swap('k', { expectedRevision: first.revision!, set: { a: 'stolen' } });
      expectEqual(swapped, false, 'a swap on the old revision fails');
    },
  }),
  kvCase({
    id: 'kv/terminal-records-take-their-ttl',
    title: 'a running task has no TTL; finishing it sets state and TTL in one step',
    proves: ['KV-9', '003 Job completion', '003 Step completion'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const key = 'gbe.state.tasks.email-send.job_1';
      await kv.put(key, { state: 'running', current_step: 1, timeout_at: 5 });
      await kv.setFields(key, { current_step: 2, updated_at: 7 });
      await bench.pass(SHORT_MS);
      expectEqual((await kv.get(key))?.ttl, undefined, 'a running task has no TTL');
      const { swapped, record } = await kv.swap(key, {
        expected: { state: 'running' },
        set: { state: 'completed', timeout_at: null },
        ttl: SHORT_MS,
      });
      expect(swapped && record?.ttl !== undefined, 'the terminal record has a TTL');
      await outlive(bench, key);
      expectEqual(await kv.get(key), null, 'the terminal record expires');
    },
  }),
];

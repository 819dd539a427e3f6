/** Time to live: milliseconds, absolute once set, and invisible everywhere from that millisecond (KV-2, KV-9). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { exactStopwatch, stopwatch } from '../stopwatch.ts';
import { readTexts, scanKeys } from './fields.ts';

/** Long enough to be still there when a slow machine looks, short enough to wait for. */
const SHORT_MS = 400;

/** Lets exactly the time pass that the record says it has left. */
async function outlive(bench: Bench, key: string): Promise<void> {
  const ttl = (await bench.tenant.kv.get(key))?.ttl;
  if (ttl !== undefined) await bench.pass(ttl);
}

export const TTL_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/ttl-is-milliseconds-left',
    title: 'get tells the milliseconds left, for numbers and duration texts',
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
    title: 'from the millisecond its TTL passes a record is gone from get, fields, lists, scans and swaps',
    proves: ['KV-2', '003 put'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const fresh = stopwatch(SHORT_MS);
      await kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await kv.put('stays', { a: '1' });
      const before = await kv.get('k');
      expect(before !== null || !fresh(), 'before its time it is there');
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'get finds nothing');
      expectEqual(await kv.getField('k', 'a'), null, 'getField finds nothing');
      expectEqual(
        (await kv.getMany(['k', 'stays'])).map((it) => it !== null),
        [false, true],
        'getMany finds nothing',
      );
      expectEqual(await scanKeys(bench.tenant, ''), ['stays'], 'scan does not list it');
      expectEqual(
        (await kv.scanPage('')).items.map((it) => it.key),
        ['stays'],
        'nor do pages',
      );
      expectEqual(await kv.compareAndSwap('k', 'a', '1', '2'), false, 'its old value cannot be swapped');
      expectEqual(await kv.touch('k', '1h'), false, 'it cannot be touched back to life');
      expectEqual((await kv.setField('k', 'a', '2', { ifExists: true })).written, false, 'nor written with ifExists');
      expectEqual(await kv.delete('k'), false, 'there is nothing to delete');
      expectEqual(await kv.compareAndSwap('k', 'a', null, 'new'), true, 'to a swap its field is absent');
      expectEqual(await readTexts(bench.tenant, 'k'), { a: 'new' }, 'and the new record has nothing of the old');
      expectEqual((await kv.get('k'))?.ttl, undefined, 'not even its TTL');
    },
  }),
  kvCase({
    id: 'kv/gone-at-its-millisecond',
    title: 'a record is there a millisecond before its TTL has passed and gone when it has',
    proves: ['KV-2'],
    async run(bench) {
      const { kv } = bench.tenant;
      const isFresh = await exactStopwatch(bench, SHORT_MS);
      await kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await bench.pass(SHORT_MS - 1);
      const [record, field, keys] = [await kv.get('k'), await kv.getField('k', 'a'), await scanKeys(bench.tenant, 'k')];
      if (await isFresh()) {
        expectEqual([record !== null, field !== null, keys], [true, true, ['k']], 'a millisecond before it is there');
        expect((record?.ttl ?? 0) >= 1, 'and has at least a millisecond left');
      }
      await bench.pass(1);
      expectEqual(
        [await kv.get('k'), await kv.getField('k', 'a'), await scanKeys(bench.tenant, 'k')],
        [null, null, []],
        'at its millisecond it is gone',
      );
      expectEqual(await kv.delete('k'), false, 'and there is nothing to delete');
    },
  }),
  kvCase({
    id: 'kv/not-gone-before-its-time',
    title: 'a record is there until its TTL has passed',
    proves: ['KV-2'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1' }, { ttl: '1h' });
      const left = (await bench.tenant.kv.get('k'))?.ttl;
      expect(left, 'it tells what is left');
      const fresh = stopwatch(SHORT_MS);
      await bench.tenant.kv.put('short', { a: '1' }, { ttl: SHORT_MS });
      await bench.pass(SHORT_MS / 4);
      const record = await bench.tenant.kv.get('short');
      expect(record || !fresh(), 'after a quarter of its time it is there');
      expect(!record || (record.ttl ?? 0) <= SHORT_MS - SHORT_MS / 4, 'and has at most three quarters left');
    },
  }),
  kvCase({
    id: 'kv/put-clears-an-old-ttl',
    title: 'put without ttl clears an old one',
    proves: ['KV-2'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1' }, { ttl: SHORT_MS });
      await bench.tenant.kv.put('k', { a: '2' });
      expectEqual((await bench.tenant.kv.get('k'))?.ttl, undefined, 'the record lives for ever');
      await bench.pass(SHORT_MS);
      expectEqual(await readTexts(bench.tenant, 'k'), { a: '2' }, 'and really does');
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
      expect(!fresh() || (left !== undefined && left <= SHORT_MS - 20), 'writes neither clear nor extend it');
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'the record goes when it was to go');
    },
  }),
  kvCase({
    id: 'kv/touch-sets-and-clears-the-ttl',
    title: 'touch sets a new TTL or clears it, and says whether there is a record',
    proves: ['KV-4', '003 ttl'],
    async run(bench) {
      const kv = bench.tenant.kv;
      expectEqual(await kv.touch('missing', '1h'), false, 'there is nothing to touch');
      expectEqual(await kv.get('missing'), null, 'and touching makes nothing');
      await kv.put('k', { a: '1' });
      expectEqual(await kv.touch('k', '1h'), true, 'a record is touched');
      const left = (await kv.get('k'))?.ttl;
      expect(left !== undefined && left <= 3_600_000 && left > 3_590_000, 'it has the new time to live');
      expectEqual(await kv.touch('k', null), true, 'null clears it');
      expectEqual((await kv.get('k'))?.ttl, undefined, 'the record lives for ever');
      await kv.touch('k', SHORT_MS);
      await outlive(bench, 'k');
      expectEqual(await kv.get('k'), null, 'a short one ends it');
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
      expect((await kv.get('k'))?.ttl !== undefined, 'a swap can set it');
      await kv.swap('k', { expected: { a: 'wrong' }, set: { a: '3' }, ttl: null });
      expect((await kv.get('k'))?.ttl !== undefined, 'a swap that fails leaves it');
      await kv.swap('k', { expected: { a: '2' }, set: { a: '3' }, ttl: null });
      expectEqual((await kv.get('k'))?.ttl, undefined, 'null clears it');
    },
  }),
  kvCase({
    id: 'kv/revision-does-not-repeat-after-expiry',
    title: 'a record that expired and is written again has a new revision',
    proves: ['KV-1', 'KV-2'],
    async run(bench) {
      const first = await bench.tenant.kv.put('k', { a: '1' }, { ttl: 60 });
      await bench.pass(60);
      const second = await bench.tenant.kv.put('k', { a: '1' });
      expect(second.revision! > first.revision!, 'who remembers the old revision cannot mistake the new record for it');
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
      expectEqual((await kv.get(key))?.ttl, undefined, 'a running task never vanishes by TTL');
      const { swapped, record } = await kv.swap(key, {
        expected: { state: 'running' },
        set: { state: 'completed', timeout_at: null },
        ttl: SHORT_MS,
      });
      expect(swapped && record?.ttl !== undefined, 'the terminal record has one');
      await outlive(bench, key);
      expectEqual(await kv.get(key), null, 'and goes when it is over');
    },
  }),
];

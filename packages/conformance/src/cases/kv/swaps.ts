/** Compare-and-swap, the general swap, and retried requests (KV-3, GEN-8). */
import { expect, expectCode, expectEqual, expectNewRevision } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { readTexts, textsOf } from './fields.ts';

export const SWAP_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/compare-and-swap',
    title: 'compareAndSwap writes only when the field has exactly the expected bytes',
    proves: ['003 compare_and_swap', '003 Worker claiming', 'KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      await kv.put('k', { state: 'pending', n: '9', other: 'x' });
      expectEqual(await kv.compareAndSwap('k', 'state', 'claimed', 'running'), false, 'another value is not swapped');
      expectEqual(await kv.compareAndSwap('k', 'state', 'pending', 'claimed'), true, 'the expected value is swapped');
      expectEqual(await kv.compareAndSwap('k', 'state', 'pending', 'claimed'), false, 'the value is swapped once');
      expectEqual(await kv.compareAndSwap('k', 'n', '09', '1'), false, 'values are compared as bytes, not as numbers');
      expectEqual(await kv.compareAndSwap('k', 'n', 9, 10), true, 'a number is compared as its text');
      expectEqual(await readTexts(bench.tenant, 'k'), { state: 'claimed', n: '10', other: 'x' }, 'other fields stay');
    },
  }),
  kvCase({
    id: 'kv/null-means-absent-in-swaps',
    title: 'expected null means absent; next null removes the field',
    proves: ['KV-3', 'KV-1'],
    async run(bench) {
      const kv = bench.tenant.kv;
      expectEqual(await kv.compareAndSwap('k', 'a', '1', '2'), false, 'a missing record has no value');
      expectEqual(await kv.compareAndSwap('k', 'a', '', '2'), false, 'an empty value is not absent');
      expectEqual(
        await kv.compareAndSwap('k', 'a', null, '1'),
        true,
        'an absent field is swapped and creates the record',
      );
      expectEqual(await kv.compareAndSwap('k', 'a', null, '2'), false, 'the field is no longer absent');
      expectEqual(await kv.compareAndSwap('k', 'b', null, ''), true, 'a second field is created');
      expectEqual(await kv.compareAndSwap('k', 'b', null, 'x'), false, 'an empty field is not absent');
      expectEqual(await kv.compareAndSwap('k', 'b', '', null), true, 'null removes the field');
      expectEqual(await readTexts(bench.tenant, 'k'), { a: '1' }, 'the other field stays');
      expectEqual(await kv.compareAndSwap('k', 'a', '1', null), true, 'the last field is removed');
      expectEqual(await kv.get('k'), null, 'the record is removed with its last field');
    },
  }),
  kvCase({
    id: 'kv/swap-several-fields',
    title: 'swap compares several fields and writes several in one step',
    proves: ['KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      await kv.put('k', { state: 'pending', tries: '1' });
      const lost = await kv.swap('k', { expected: { state: 'pending', tries: '2' }, set: { state: 'claimed' } });
      expectEqual(
        [lost.swapped, textsOf(lost.record)],
        [false, { state: 'pending', tries: '1' }],
        'one wrong field fails the swap, which returns the current record',
      );
      const won = await kv.swap('k', {
        expected: { state: 'pending', tries: 1, worker: null },
        set: { state: 'claimed', worker: 'w1', claim_id: 'c1', tries: null },
      });
      const expected = { state: 'claimed', worker: 'w1', claim_id: 'c1' };
      expectEqual([won.swapped, textsOf(won.record)], [true, expected], 'all fields are written together');
      expectEqual(await readTexts(bench.tenant, 'k'), expected, 'all fields are stored');
    },
  }),
  kvCase({
    id: 'kv/swap-on-the-revision',
    title: 'swap compares the revision; 0 means that there must be no record',
    proves: ['KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const missing = await kv.swap('k', { expectedRevision: 7, set: { a: '1' } });
      expectEqual(missing, { swapped: false, record: null }, 'a missing record has no revision');
      const made = await kv.swap('k', { expectedRevision: 0, set: { a: '1' } });
      expectEqual(made.swapped, true, 'revision 0 creates a record');
      expectEqual(
        (await kv.swap('k', { expectedRevision: 0, set: { a: '2' } })).swapped,
        false,
        'revision 0 does not match an existing record',
      );
      const revision = made.record!.revision;
      const second = await kv.swap('k', { expectedRevision: revision, set: { a: '2' } });
      expectEqual(second.swapped, true, 'the right revision matches');
      expectNewRevision(bench.store, second.record!.revision, revision, 'and changes');
      const stale = await kv.swap('k', { expectedRevision: revision, expected: { a: '2' }, set: { a: '3' } });
      expectEqual(
        [stale.swapped, stale.record?.revision],
        [false, second.record!.revision],
        'a stale revision fails and returns the current record',
      );
      for (const bad of [-1, 0.5, Number.NaN, '1' as never]) {
        await expectCode('INVALID_ARGUMENT', `revision ${bad} is refused`, () =>
          kv.swap('k', { expectedRevision: bad, set: { a: '9' } }),
        );
      }
    },
  }),
  kvCase({
    id: 'kv/failed-swaps-change-nothing',
    title: 'a failed swap leaves fields and revision unchanged',
    proves: ['KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      await kv.put('k', { a: '1' }, { ttl: '1h' });
      const before = await kv.get('k');
      await kv.compareAndSwap('k', 'a', 'x', 'y');
      await kv.swap('k', { expectedRevision: before!.revision + 1, set: { b: '2' } });
      const after = await kv.get('k');
      expectEqual([textsOf(after), after?.revision], [textsOf(before), before?.revision], 'nothing changed');
      expectEqual(
        (await kv.compareAndSwap('none', 'a', 'x', 'y')) || (await kv.get('none')) !== null,
        false,
        'no record is created',
      );
    },
  }),
  kvCase({
    id: 'kv/retried-winner-hears-true',
    title: 'a swap retried with its requestId returns the same result and is not applied twice',
    proves: ['GEN-8', 'KV-3'],
    async run(bench) {
      const kv = bench.tenant.kv;
      await kv.put('k', { state: 'pending' });
      expectEqual(
        await kv.compareAndSwap('k', 'state', 'pending', 'claimed', { requestId: 'r1' }),
        true,
        'the first call wins',
      );
      expectEqual(
        await kv.compareAndSwap('k', 'state', 'pending', 'claimed', { requestId: 'r1' }),
        true,
        'the retried request returns true',
      );
      expectEqual(
        await kv.compareAndSwap('k', 'state', 'pending', 'claimed', { requestId: 'r2' }),
        false,
        'another request returns false',
      );
      expectEqual(
        await kv.compareAndSwap('k', 'state', 'pending', 'claimed'),
        false,
        'a call without a request id returns false',
      );
      const change = { expected: { state: 'claimed' }, set: { state: 'running', worker: 'w' }, requestId: 'r3' };
      expectEqual((await kv.swap('k', change)).swapped, true, 'the general swap wins');
      await kv.setField('k', 'worker', 'somebody else');
      const again = await kv.swap('k', change);
      expectEqual(
        [again.swapped, textsOf(again.record)?.worker],
        [true, 'somebody else'],
        'the retried general swap returns the same and is not applied twice',
      );
    },
  }),
  kvCase({
    id: 'kv/retried-writes-apply-once',
    title: 'put, setField and setFields retried with their requestId do not overwrite later writes',
    proves: ['GEN-8'],
    async run(bench) {
      const kv = bench.tenant.kv;
      const writes: Record<string, () => Promise<{ written: boolean }>> = {
        put: () => kv.put('k', { a: 'put' }, { requestId: 'p' }),
        setField: () => kv.setField('k', 'a', 'field', { requestId: 'f' }),
        setFields: () => kv.setFields('k', { a: 'fields' }, { requestId: 'fs' }),
      };
      for (const [name, write] of Object.entries(writes)) {
        expectEqual((await write()).written, true, `${name} is written`);
        for (const later of ['1', '2', '3']) await kv.setField('k', 'a', later, { requestId: `${name}-${later}` });
        expectEqual((await write()).written, true, `${name} returns its first result on retry`);
        expectEqual(await readTexts(bench.tenant, 'k'), { a: '3' }, 'later writes stay');
      }
    },
  }),
];

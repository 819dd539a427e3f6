/**
 * Request ids (GEN-8): a retried write returns its first result and is not applied again, even if others wrote in
 * between.
 */
import type { KvStore } from '@tidemark/core';
import { expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { readTexts } from './fields.ts';

const SHORT_MS = 60;
/** More requests than a record stores itself. */
const MANY = 60;

/** Ids that contain each other, or that look like lists of ids. */
const SIMILAR_IDS = ['a', 'b', 'ab', 'ba', 'aba', 'a,b', 'a b', '"a"', '["a","b"]', 'a%', 'a_', 'A', '\\', 'a\n'];

/** Returns the KV of the case's tenant as seen by another client. */
async function peerKv(bench: Bench): Promise<KvStore> {
  return (await bench.peer()).forTenant(bench.tenantId).kv;
}

export const REQUEST_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/requests-outlive-a-delete',
    title: 'a retried write returns its first result and is not applied again, even if its record was deleted since',
    proves: ['GEN-8'],
    async run(bench) {
      const [{ kv }, other] = [bench.tenant, await peerKv(bench)];
      await kv.put('k', { state: 'claimed' });
      const release = () => kv.compareAndSwap('k', 'state', 'claimed', null, { requestId: 'release' });
      expectEqual(
        [await release(), await release()],
        [true, true],
        'a retried swap that removes the record returns true',
      );
      const writes: Record<string, () => Promise<unknown>> = {
        compareAndSwap: () => kv.compareAndSwap('k', 'state', null, 'x', { requestId: 'swap one' }),
        swap: async () => (await kv.swap('k', { expectedRevision: 0, set: { state: 'x' }, requestId: 'swap' })).swapped,
        put: async () => (await kv.put('k', { state: 'x' }, { requestId: 'put' })).written,
        setField: async () => (await kv.setField('k', 'state', 'x', { requestId: 'set one' })).written,
        setFields: async () => (await kv.setFields('k', { state: 'x' }, { requestId: 'set' })).written,
      };
      for (const [name, write] of Object.entries(writes)) {
        expectEqual(await write(), true, `${name} creates the record`);
        expectEqual(await other.delete('k'), true, 'another client deletes the record');
        expectEqual(
          [await write(), await kv.get('k')],
          [true, null],
          `${name} returns its first result and does not create the record again`,
        );
        await other.put('k', { state: 'theirs' });
        expectEqual(
          [await write(), await readTexts(bench.tenant, 'k')],
          [true, { state: 'theirs' }],
          `the record is not created later either`,
        );
        await other.delete('k');
      }
    },
  }),
  kvCase({
    id: 'kv/requests-outlive-expiry',
    title: 'a retried write returns its first result and is not applied again, even if its record has expired since',
    proves: ['GEN-8', 'KV-2'],
    async run(bench) {
      const { kv } = bench.tenant;
      const put = async () => (await kv.put('put', { a: '1' }, { ttl: SHORT_MS, requestId: 'put' })).written;
      const set = async () => (await kv.setField('touched', 'a', '1', { requestId: 'set' })).written;
      expectEqual([await put(), await set()], [true, true], 'two records are created');
      await kv.touch('touched', SHORT_MS);
      await bench.pass(SHORT_MS);
      expectEqual([await kv.get('put'), await kv.get('touched')], [null, null], 'the records expire');
      expectEqual([await put(), await set()], [true, true], 'their retried requests return the first result');
      expectEqual(
        [await kv.get('put'), await kv.get('touched')],
        [null, null],
        'retried requests are not applied again',
      );
      await kv.put('put', { a: '2' });
      expectEqual(
        [await put(), await readTexts(bench.tenant, 'put')],
        [true, { a: '2' }],
        'retried requests do not overwrite later writes',
      );
    },
  }),
  kvCase({
    id: 'kv/deletes-and-touches-are-requests',
    title: 'delete and touch retried with their requestId return the first result and change nothing',
    proves: ['GEN-8'],
    async run(bench) {
      const { kv } = bench.tenant;
      await kv.put('k', { a: '1' });
      const remove = () => kv.delete('k', { requestId: 'remove' });
      expectEqual([await remove(), await remove()], [true, true], 'a retried delete returns true');
      await kv.put('k', { a: '2' });
      expectEqual(
        [await remove(), await readTexts(bench.tenant, 'k')],
        [true, { a: '2' }],
        'a retried delete removes nothing',
      );
      const touch = () => kv.touch('k', '1h', { requestId: 'touch' });
      expectEqual(await touch(), true, 'a touch returns true');
      await kv.touch('k', null);
      expectEqual([await touch(), (await kv.get('k'))?.ttl], [true, undefined], 'a retried touch does not touch again');
      await kv.delete('k');
      expectEqual(
        [await touch(), await kv.get('k')],
        [true, null],
        'a retried touch without its record returns the first result',
      );
      const removeMissing = () => kv.delete('missing', { requestId: 'none' });
      expectEqual(
        [await removeMissing(), await removeMissing()],
        [false, false],
        'a delete of a missing record returns false, even when retried',
      );
      await kv.put('missing', { a: '1' });
      expectEqual(
        [await removeMissing(), await kv.get('missing')],
        [true, null],
        'a delete that found nothing is applied when it is retried',
      );
      for (const requestId of ['', 7 as never]) {
        await expectCode('INVALID_ARGUMENT', 'an invalid request id of a delete is refused', () =>
          kv.delete('k', { requestId }),
        );
        await expectCode('INVALID_ARGUMENT', 'an invalid request id of a touch is refused', () =>
          kv.touch('k', '1h', { requestId }),
        );
      }
    },
  }),
  kvCase({
    id: 'kv/many-requests-of-one-key',
    title: 'each of many requests on one key is remembered for minutes, even if the record is deleted',
    proves: ['GEN-8'],
    async run(bench) {
      const { kv } = bench.tenant;
      const write = (n: number) => kv.setField('k', 'n', n, { requestId: `request-${n}` });
      for (const n of upTo(MANY)) await write(n);
      const revision = (await kv.get('k'))!.revision;
      for (const n of upTo(MANY)) expectEqual((await write(n)).written, true, `request ${n} was applied`);
      expectEqual((await kv.get('k'))?.revision, revision, 'no request is applied again');
      await kv.delete('k');
      for (const n of upTo(MANY))
        expectEqual((await write(n)).written, true, `request ${n} is not applied after a delete`);
      expectEqual(await kv.get('k'), null, 'the record is not created again');
    },
  }),
  kvCase({
    id: 'kv/request-ids-are-exact',
    title: 'request ids are compared exactly and apply to their key alone',
    proves: ['GEN-8', 'GEN-5'],
    async run(bench) {
      const { kv } = bench.tenant;
      for (const [n, requestId] of SIMILAR_IDS.entries()) {
        const { written } = await kv.setField('k', 'n', n, { requestId });
        expectEqual(
          [written, await readTexts(bench.tenant, 'k')],
          [true, { n: String(n) }],
          `${requestId} is a new request`,
        );
      }
      await kv.delete('k');
      for (const requestId of SIMILAR_IDS) await kv.setField('k', 'n', 'again', { requestId });
      expectEqual(await kv.get('k'), null, 'each of them is remembered once the record is gone');
      expectEqual(
        (await kv.setField('k', 'n', 'new', { requestId: 'aa' })).written,
        true,
        'another request id is not remembered',
      );
      for (const key of ['k.', 'k2', 'K', 'other']) {
        for (const requestId of ['a', 'ab']) await kv.setField(key, 'by', requestId, { requestId });
        expectEqual(await readTexts(bench.tenant, key), { by: 'ab' }, `the same ids are new requests for ${key}`);
      }
      const stranger = bench.store.forTenant(bench.id('tenant'));
      await stranger.kv.setField('k', 'n', 'theirs', { requestId: 'a' });
      expectEqual(await readTexts(stranger, 'k'), { n: 'theirs' }, 'the same ids are new requests in another tenant');
    },
  }),
  kvCase({
    id: 'kv/failed-requests-are-not-remembered',
    title: 'a request whose condition did not hold may be retried until it does',
    proves: ['GEN-8', 'KV-3'],
    async run(bench) {
      const { kv } = bench.tenant;
      const swap = () => kv.compareAndSwap('k', 'state', 'ready', 'taken', { requestId: 'take' });
      const touch = () => kv.touch('k', '1h', { requestId: 'touch' });
      const set = async () => (await kv.setField('k', 'a', '1', { ifExists: true, requestId: 'set' })).written;
      expectEqual([await swap(), await touch(), await set()], [false, false, false], 'there is no record');
      await kv.put('k', { state: 'ready' });
      expectEqual([await swap(), await touch(), await set()], [true, true, true], 'the record exists now');
      const { ttl, ...record } = (await kv.get('k'))!;
      expectEqual([ttl !== undefined, record.fields.a !== undefined], [true, true], 'all requests were applied');
    },
  }),
];

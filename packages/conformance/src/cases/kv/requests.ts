/** Request ids (GEN-8): a retried write is answered as the first time and not applied again, whatever came in between. */
import type { KvStore } from '@tidemark/core';
import { expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { readTexts } from './fields.ts';

const SHORT_MS = 60;
/** More than any record need hold itself. */
const MANY = 60;

/** Ids of which one is part of another, or looks like a list of them. */
const ALIKE = ['a', 'b', 'ab', 'ba', 'aba', 'a,b', 'a b', '"a"', '["a","b"]', 'a%', 'a_', 'A', '\\', 'a\n'];

/** KV of the case's tenant as another client has it. */
async function others(bench: Bench): Promise<KvStore> {
  return (await bench.peer()).forTenant(bench.tenantId).kv;
}

export const REQUEST_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/requests-outlive-a-delete',
    title: 'a retried write is answered as before and not applied again though its record was deleted since',
    proves: ['GEN-8'],
    async run(bench) {
      const [{ kv }, other] = [bench.tenant, await others(bench)];
      await kv.put('k', { state: 'claimed' });
      const release = () => kv.compareAndSwap('k', 'state', 'claimed', null, { requestId: 'release' });
      expectEqual([await release(), await release()], [true, true], 'a swap that removes the record has still won');
      const writes: Record<string, () => Promise<unknown>> = {
        compareAndSwap: () => kv.compareAndSwap('k', 'state', null, 'x', { requestId: 'swap one' }),
        swap: async () => (await kv.swap('k', { expectedRevision: 0, set: { state: 'x' }, requestId: 'swap' })).swapped,
        put: async () => (await kv.put('k', { state: 'x' }, { requestId: 'put' })).written,
        setField: async () => (await kv.setField('k', 'state', 'x', { requestId: 'set one' })).written,
        setFields: async () => (await kv.setFields('k', { state: 'x' }, { requestId: 'set' })).written,
      };
      for (const [name, write] of Object.entries(writes)) {
        expectEqual(await write(), true, `${name} makes the record`);
        expectEqual(await other.delete('k'), true, 'another client deletes it');
        expectEqual([await write(), await kv.get('k')], [true, null], `${name} is answered and does not make it again`);
        await other.put('k', { state: 'theirs' });
        expectEqual([await write(), await readTexts(bench.tenant, 'k')], [true, { state: 'theirs' }], `nor later`);
        await other.delete('k');
      }
    },
  }),
  kvCase({
    id: 'kv/requests-outlive-expiry',
    title: 'a retried write is answered as before and not applied again though its record has expired since',
    proves: ['GEN-8', 'KV-2'],
    async run(bench) {
      const { kv } = bench.tenant;
      const put = async () => (await kv.put('put', { a: '1' }, { ttl: SHORT_MS, requestId: 'put' })).written;
      const set = async () => (await kv.setField('touched', 'a', '1', { requestId: 'set' })).written;
      expectEqual([await put(), await set()], [true, true], 'two records are made');
      await kv.touch('touched', SHORT_MS);
      await bench.pass(SHORT_MS);
      expectEqual([await kv.get('put'), await kv.get('touched')], [null, null], 'and expire');
      expectEqual([await put(), await set()], [true, true], 'their requests are still answered');
      expectEqual([await kv.get('put'), await kv.get('touched')], [null, null], 'and applied no more');
      await kv.put('put', { a: '2' });
      expectEqual([await put(), await readTexts(bench.tenant, 'put')], [true, { a: '2' }], 'nor over what came after');
    },
  }),
  kvCase({
    id: 'kv/deletes-and-touches-are-requests',
    title: 'delete and touch retried with their requestId return what they returned and change nothing',
    proves: ['GEN-8'],
    async run(bench) {
      const { kv } = bench.tenant;
      await kv.put('k', { a: '1' });
      const remove = () => kv.delete('k', { requestId: 'remove' });
      expectEqual([await remove(), await remove()], [true, true], 'a delete sent again has still deleted');
      await kv.put('k', { a: '2' });
      expectEqual([await remove(), await readTexts(bench.tenant, 'k')], [true, { a: '2' }], 'once');
      const touch = () => kv.touch('k', '1h', { requestId: 'touch' });
      expectEqual(await touch(), true, 'a touch');
      await kv.touch('k', null);
      expectEqual([await touch(), (await kv.get('k'))?.ttl], [true, undefined], 'sent again does not touch again');
      await kv.delete('k');
      expectEqual([await touch(), await kv.get('k')], [true, null], 'and is answered without its record');
      expectEqual(await kv.delete('missing', { requestId: 'none' }), false, 'a delete that found nothing');
      await kv.put('missing', { a: '1' });
      expectEqual(await kv.delete('missing', { requestId: 'none' }), true, 'has done nothing, and may be sent anew');
      for (const requestId of ['', 7 as never]) {
        await expectCode('INVALID_ARGUMENT', 'a wrong id of a delete', () => kv.delete('k', { requestId }));
        await expectCode('INVALID_ARGUMENT', 'a wrong id of a touch', () => kv.touch('k', '1h', { requestId }));
      }
    },
  }),
  kvCase({
    id: 'kv/many-requests-of-one-key',
    title: 'of many requests on one key none is forgotten within minutes, not even when the record goes',
    proves: ['GEN-8'],
    async run(bench) {
      const { kv } = bench.tenant;
      const write = (n: number) => kv.setField('k', 'n', n, { requestId: `request-${n}` });
      for (const n of upTo(MANY)) await write(n);
      const revision = (await kv.get('k'))!.revision;
      for (const n of upTo(MANY)) expectEqual((await write(n)).written, true, `request ${n} was carried out`);
      expectEqual((await kv.get('k'))?.revision, revision, 'and none is again');
      await kv.delete('k');
      for (const n of upTo(MANY)) expectEqual((await write(n)).written, true, `nor request ${n} after a delete`);
      expectEqual(await kv.get('k'), null, 'the record is not made again');
    },
  }),
  kvCase({
    id: 'kv/request-ids-are-exact',
    title: 'request ids are compared whole and count for their key alone',
    proves: ['GEN-8', 'GEN-5'],
    async run(bench) {
      const { kv } = bench.tenant;
      for (const [n, requestId] of ALIKE.entries()) {
        const { written } = await kv.setField('k', 'n', n, { requestId });
        expectEqual([written, await readTexts(bench.tenant, 'k')], [true, { n: String(n) }], `${requestId} is new`);
      }
      await kv.delete('k');
      for (const requestId of ALIKE) await kv.setField('k', 'n', 'again', { requestId });
      expectEqual(await kv.get('k'), null, 'each of them is known once the record is gone');
      expectEqual((await kv.setField('k', 'n', 'new', { requestId: 'aa' })).written, true, 'another one is not');
      for (const key of ['k.', 'k2', 'K', 'other']) {
        for (const requestId of ['a', 'ab']) await kv.setField(key, 'by', requestId, { requestId });
        expectEqual(await readTexts(bench.tenant, key), { by: 'ab' }, `the same ids are new to ${key}`);
      }
      const stranger = bench.store.forTenant(bench.id('tenant'));
      await stranger.kv.setField('k', 'n', 'theirs', { requestId: 'a' });
      expectEqual(await readTexts(stranger, 'k'), { n: 'theirs' }, 'and to another tenant');
    },
  }),
  kvCase({
    id: 'kv/failed-requests-are-not-remembered',
    title: 'a request whose condition did not hold may be sent again until it does',
    proves: ['GEN-8', 'KV-3'],
    async run(bench) {
      const { kv } = bench.tenant;
      const swap = () => kv.compareAndSwap('k', 'state', 'ready', 'taken', { requestId: 'take' });
      const touch = () => kv.touch('k', '1h', { requestId: 'touch' });
      const set = async () => (await kv.setField('k', 'a', '1', { ifExists: true, requestId: 'set' })).written;
      expectEqual([await swap(), await touch(), await set()], [false, false, false], 'there is no record');
      await kv.put('k', { state: 'ready' });
      expectEqual([await swap(), await touch(), await set()], [true, true, true], 'now there is');
      const { ttl, ...record } = (await kv.get('k'))!;
      expectEqual([ttl !== undefined, record.fields.a !== undefined], [true, true], 'and all were carried out');
    },
  }),
];

/** Records: whole records, single fields, and the allowed values (003; KV-1, KV-2). */
import { numberOf } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { readTexts, textsOf } from './fields.ts';

const BYTES = Uint8Array.from([0, 255, 128, 10, 13, 0xc3, 0x28]);

export const RECORD_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/put-and-get',
    title: 'get returns the fields and a revision; an unknown key is null',
    proves: ['003 get', '003 put', '003 Record', 'KV-1'],
    async run(bench) {
      const key = 'gbe.state.tasks.email-send.job_123';
      expectEqual(await bench.tenant.kv.get(key), null, 'there is no record yet');
      const { written, revision } = await bench.tenant.kv.put(key, { state: 'pending', task_type: 'email-send' });
      expectEqual(written, true, 'put writes');
      const record = await bench.tenant.kv.get(key);
      expectEqual(textsOf(record), { state: 'pending', task_type: 'email-send' }, 'the fields are returned');
      expect(record && !('ttl' in record), 'a record without TTL shows none');
      expect(
        record && Number.isSafeInteger(record.revision) && record.revision === revision,
        'the revision is the one that put returned',
      );
      expectEqual(Object.getPrototypeOf(record?.fields), null, 'fields are an object without a prototype');
    },
  }),
  kvCase({
    id: 'kv/values-are-bytes',
    title: 'text, numbers, bigints, booleans and bytes can be written; reads return bytes',
    proves: ['KV-1', '003 Record'],
    async run(bench) {
      await bench.tenant.kv.put('k', {
        s: 'é\0🌊',
        empty: '',
        n: -1.5,
        big: 2n ** 70n,
        yes: true,
        no: false,
        bytes: BYTES,
        none: new Uint8Array(0),
      });
      const record = await bench.tenant.kv.get('k');
      for (const value of Object.values(record!.fields)) expect(value instanceof Uint8Array, 'every field is bytes');
      const { bytes, none, ...texts } = textsOf(record)!;
      expectEqual(
        texts,
        { s: 'é\0🌊', empty: '', n: '-1.5', big: '1180591620717411303424', yes: 'true', no: 'false' },
        'values are stored as their text',
      );
      expectEqual([...record!.fields.bytes!], [...BYTES], 'bytes are stored unchanged');
      expectEqual(record!.fields.none?.length, 0, 'an empty value is a value, not an absent field');
      expectEqual(numberOf(record!.fields.n), -1.5, 'numberOf reads numbers back');
    },
  }),
  kvCase({
    id: 'kv/values-are-checked',
    title: 'invalid values, keys and field names fail with INVALID_ARGUMENT, and nothing is written',
    proves: ['KV-1', 'GEN-5', 'GEN-1'],
    async run(bench) {
      for (const value of [{}, [], undefined, new Date(), Symbol('s'), () => 1, Number.NaN, '\ud800', null]) {
        await expectCode('INVALID_ARGUMENT', 'the value is invalid', () =>
          bench.tenant.kv.put('k', { ok: '1', bad: value as never }),
        );
      }
      await expectCode('INVALID_ARGUMENT', 'a record needs a field', () => bench.tenant.kv.put('k', {}));
      await expectCode('INVALID_ARGUMENT', 'fields are an object', () => bench.tenant.kv.put('k', 'fields' as never));
      expectEqual(await bench.tenant.kv.get('k'), null, 'nothing was written');
    },
  }),
  kvCase({
    id: 'kv/field-size-limit-is-exact',
    title: 'a field exactly at the limit is stored; one byte more is PAYLOAD_TOO_LARGE',
    proves: ['GEN-4', 'KV-1'],
    async run(bench) {
      const limit = bench.store.info.limits.fieldBytes;
      await bench.tenant.kv.put('k', { f: new Uint8Array(limit).fill(7) });
      expectEqual(
        (await bench.tenant.kv.getField('k', 'f'))?.length,
        limit,
        'a field of the limit is returned unchanged',
      );
      await expectCode('PAYLOAD_TOO_LARGE', 'one byte more is refused', () =>
        bench.tenant.kv.put('k', { f: new Uint8Array(limit + 1) }),
      );
      expectEqual((await bench.tenant.kv.getField('k', 'f'))?.[0], 7, 'the stored record stays');
    },
  }),
  kvCase({
    id: 'kv/put-replaces-the-whole-record',
    title: 'put replaces the record: fields that are not given are removed',
    proves: ['003 put', 'KV-2'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1', b: '2' });
      await bench.tenant.kv.put('k', { b: '3', c: '4' });
      expectEqual(await readTexts(bench.tenant, 'k'), { b: '3', c: '4' }, 'only the new fields are stored');
    },
  }),
  kvCase({
    id: 'kv/delete-says-whether-there-was-one',
    title: 'delete removes the record and reports whether it existed',
    proves: ['003 delete', 'KV-1'],
    async run(bench) {
      await bench.tenant.kv.put('k', { a: '1' });
      expectEqual(await bench.tenant.kv.delete('k'), true, 'delete returns true for a stored record');
      expectEqual(await bench.tenant.kv.get('k'), null, 'the record is gone');
      expectEqual(await bench.tenant.kv.delete('k'), false, 'a second delete returns false');
    },
  }),
  kvCase({
    id: 'kv/field-operations',
    title: 'single fields are read and written without touching the others',
    proves: ['003 get_field', '003 set_field', '003 set_fields', 'KV-2'],
    async run(bench) {
      expectEqual(await bench.tenant.kv.getField('k', 'a'), null, 'a field of a missing record is null');
      await bench.tenant.kv.setField('k', 'a', '1');
      await bench.tenant.kv.setFields('k', { b: 2, c: '3' });
      await bench.tenant.kv.setField('k', 'b', 'two');
      expectEqual(
        await readTexts(bench.tenant, 'k'),
        { a: '1', b: 'two', c: '3' },
        'writes upsert the named fields only',
      );
      expectEqual(await bench.tenant.kv.getField('k', 'missing'), null, 'a missing field is null');
      expectEqual(await bench.tenant.kv.getField('k', 'toString'), null, 'a field that objects inherit is absent');
      expectEqual(
        Buffer.from((await bench.tenant.kv.getField('k', 'b')) ?? []).toString(),
        'two',
        'a single field is read',
      );
    },
  }),
  kvCase({
    id: 'kv/null-removes-a-field',
    title: 'null in setFields removes a field; removing the last field removes the record',
    proves: ['KV-1', '003 Job completion'],
    async run(bench) {
      await bench.tenant.kv.put('k', { state: 'running', timeout_at: 99 });
      await bench.tenant.kv.setFields('k', { state: 'completed', timeout_at: null, never: null });
      expectEqual(await readTexts(bench.tenant, 'k'), { state: 'completed' }, 'the field is cleared in the same step');
      const gone = await bench.tenant.kv.setFields('k', { state: null });
      expectEqual([gone.revision, await bench.tenant.kv.get('k')], [null, null], 'without fields there is no record');
      expectEqual(await bench.tenant.kv.delete('k'), false, 'a record without fields does not exist');
      await bench.tenant.kv.setFields('other', { a: null });
      expectEqual(await bench.tenant.kv.get('other'), null, 'removing a field of a missing record creates none');
    },
  }),
  kvCase({
    id: 'kv/if-exists-does-not-resurrect',
    title: 'a write with ifExists to a missing record changes nothing and reports that',
    proves: ['KV-2'],
    async run(bench) {
      const missing = await bench.tenant.kv.setField('k', 'a', '1', { ifExists: true });
      expectEqual(missing, { written: false, revision: null }, 'nothing was written');
      expectEqual(
        (await bench.tenant.kv.setFields('k', { a: '1' }, { ifExists: true })).written,
        false,
        'setFields writes nothing',
      );
      expectEqual(await bench.tenant.kv.get('k'), null, 'there is no record');
      await bench.tenant.kv.put('k', { a: '1' });
      expectEqual(
        (await bench.tenant.kv.setField('k', 'a', '2', { ifExists: true })).written,
        true,
        'an existing record is written',
      );
      await bench.tenant.kv.delete('k');
      expectEqual(
        (await bench.tenant.kv.setField('k', 'a', '3', { ifExists: true })).written,
        false,
        'a deleted record is not written',
      );
    },
  }),
  kvCase({
    id: 'kv/revision-grows-and-never-repeats',
    title:
      'every change gives a record a different revision, even after a delete, and a higher one where that is declared',
    proves: ['KV-1', 'KV-3'],
    async run(bench) {
      const revisions: number[] = [];
      const kv = bench.tenant.kv;
      const note = async () => revisions.push((await kv.get('k'))!.revision);
      for (let life = 0; life < 3; life++) {
        await kv.put('k', { a: '1' });
        await note();
        await kv.setField('k', 'a', '2');
        await note();
        await kv.compareAndSwap('k', 'a', '2', '3');
        await note();
        await kv.put('k', { a: '1' });
        await note();
        if (life === 1) await kv.setFields('k', { a: null });
        else await kv.delete('k');
      }
      expectEqual([...new Set(revisions)], revisions, 'every change has a revision that the key never had');
      if (bench.store.info.capabilities['kv.orderedRevisions'])
        expectEqual(
          revisions,
          revisions.toSorted((a, b) => a - b),
          'every change has a higher revision than all before',
        );
    },
  }),
  kvCase({
    id: 'kv/get-many-keeps-order',
    title: 'getMany returns one result per key, in order, including repeated keys',
    proves: ['KV-4'],
    async run(bench) {
      await bench.tenant.kv.put('b', { v: 'b' });
      await bench.tenant.kv.put('a', { v: 'a' });
      const records = await bench.tenant.kv.getMany(['a', 'missing', 'b', 'a']);
      expectEqual(
        records.map((it) => textsOf(it)?.v ?? null),
        ['a', null, 'b', 'a'],
        'results are in the order of their keys',
      );
      expectEqual(await bench.tenant.kv.getMany([]), [], 'no keys return no results');
    },
  }),
  kvCase({
    id: 'kv/records-share-nothing-with-callers',
    title: 'changing bytes after sending or reading them does not change stored bytes',
    proves: ['GEN-4', 'KV-1'],
    async run(bench) {
      const bytes = Uint8Array.from([1, 2, 3]);
      await bench.tenant.kv.put('k', { f: bytes });
      bytes[0] = 9;
      const record = await bench.tenant.kv.get('k');
      expectEqual([...record!.fields.f!], [1, 2, 3], 'the stored bytes are unchanged');
      record!.fields.f![1] = 9;
      record!.fields.extra = bytes;
      (await bench.tenant.kv.getField('k', 'f'))![2] = 9;
      for await (const entry of bench.tenant.kv.scan('')) entry.record.fields.f![0] = 9;
      expectEqual(
        [...(await bench.tenant.kv.get('k'))!.fields.f!],
        [1, 2, 3],
        'changing returned bytes changes nothing stored',
      );
    },
  }),
  kvCase({
    id: 'kv/tenants-stay-apart',
    title: 'the same key in two tenants is two records; the operator’s view works in default',
    proves: ['GEN-10'],
    async run(bench) {
      const other = bench.store.forTenant(bench.id('tenant'));
      const key = bench.id('key');
      await bench.tenant.kv.put(key, { v: 'mine' });
      await other.kv.put(key, { v: 'theirs' });
      expectEqual(await readTexts(bench.tenant, key), { v: 'mine' }, 'each tenant reads its own record');
      expectEqual(await other.kv.delete(key), true, 'each tenant deletes its own record');
      expectEqual(await readTexts(bench.tenant, key), { v: 'mine' }, 'the other tenant’s record stays');
      expectEqual(await bench.store.kv.get(key), null, 'the operator’s view sees neither');
      await bench.store.kv.put(key, { v: 'default' });
      expectEqual(
        await readTexts(bench.store.forTenant('default'), key),
        { v: 'default' },
        'the operator’s view works in the tenant default',
      );
      await bench.store.kv.delete(key);
    },
  }),
];

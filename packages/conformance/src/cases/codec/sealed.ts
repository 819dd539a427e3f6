/** Sealed fields of records: encoded for their record and name, read as written, and never compared (KV-11). */
import { randomBytes } from 'node:crypto';
import { encryption, type KvStore, type PayloadCodec, type PayloadContext, type Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { all, take } from '../iterate.ts';
import { readTexts, scanKeys, textsOf } from '../kv/fields.ts';
import { KEY_ID, newCodec } from './kept-payloads.ts';

const NEEDS = ['payloadCodec'] as const;
const KEY = 'sealed.record';

/** Encrypts, and records the context of every value. */
function recording(contexts: PayloadContext[]): PayloadCodec {
  const codec = newCodec();
  return {
    ...codec,
    encode(payload, context) {
      contexts.push(context);
      return codec.encode(payload, context);
    },
  };
}

/** Every way to write a field `token` sealed. */
const WRITES: Record<string, (kv: KvStore, key: string, token: string) => Promise<unknown>> = {
  put: (kv, key, token) => kv.put(key, { token, plain: 'p' }, { sealed: ['token'] }),
  setField: (kv, key, token) => kv.setField(key, 'token', token, { sealed: true }),
  setFields: (kv, key, token) => kv.setFields(key, { token, plain: 'p' }, { sealed: ['token'] }),
  compareAndSwap: (kv, key, token) => kv.compareAndSwap(key, 'token', null, token, { sealed: true }),
  swap: (kv, key, token) => kv.swap(key, { expected: { token: null }, set: { token }, sealed: true }),
};

const BATCHED: typeof WRITES = {
  'batch of puts': (kv, key, token) => kv.batch([{ op: 'put', key, fields: { token }, sealed: true }]),
  'batch of fields': (kv, key, token) =>
    kv.batch([{ op: 'setFields', key, expected: { token: null }, fields: { token, plain: 'p' }, sealed: ['token'] }]),
};

function writesOf(store: { info: { capabilities: Record<string, boolean> } }) {
  return Object.entries(store.info.capabilities['kv.atomicBatch'] ? { ...WRITES, ...BATCHED } : WRITES);
}

export const SEALED_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/sealed-fields-come-back',
    title: 'a sealed field is returned as written by every read, and unreadable without the codec',
    proves: ['KV-11', 'KV-1'],
    needs: NEEDS,
    async run(bench) {
      const { kv } = bench.encoded(newCodec());
      for (const [name, write] of writesOf(bench.store)) {
        const key = `${KEY}.${name}`;
        const watching = bench.store.info.capabilities['kv.watch']
          ? take(1, (signal) => kv.watch(key, { signal }))
          : Promise.resolve([]);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await write(kv, key, 'secret 🔑');
        const record = await kv.get(key);
        expectEqual(textsOf(record)?.token, 'secret 🔑', `${name} writes a field that is read as written`);
        expectEqual(record?.sealed, ['token'], 'the record names its sealed field');
        expectEqual(Buffer.from((await kv.getField(key, 'token'))!).toString(), 'secret 🔑', 'getField opens it');
        expectEqual(textsOf((await kv.getMany([key]))[0]!), textsOf(record), 'getMany opens it');
        expectEqual(
          (await all(kv.scan(key))).map((it) => textsOf(it.record)),
          [textsOf(record)],
          'scans open it',
        );
        expectEqual((await kv.scanPage(key)).items[0]?.record.sealed, ['token'], 'pages name it');
        for (const change of await watching) expectEqual(textsOf(change.record)?.token, 'secret 🔑', 'watches open it');
        const read = () => bench.tenant.kv.get(key);
        const { keyId } = await expectCode('CODEC_FAILED', `${name} leaves nothing readable`, read);
        expectEqual(keyId, KEY_ID, 'the error names the key');
        await expectCode('CODEC_FAILED', 'getField without the codec fails', () =>
          bench.tenant.kv.getField(key, 'token'),
        );
        expectEqual(await scanKeys(bench.tenant, key, undefined, { keysOnly: true } as never), [key], 'keys need none');
      }
      await kv.put(KEY, { bytes: new Uint8Array([0, 255, 7]), empty: '', n: 42 }, { sealed: true });
      const record = (await kv.get(KEY))!;
      expectEqual(
        [[...record.fields.bytes!], textsOf(record)?.empty, textsOf(record)?.n, record.sealed?.toSorted()],
        [[0, 255, 7], '', '42', ['bytes', 'empty', 'n']],
        'true seals every field, whatever its value',
      );
      await kv.setField(KEY, 'n', 43);
      await bench.tenant.kv.setFields(KEY, { bytes: null, empty: null });
      expectEqual(
        await readTexts(bench.tenant, KEY),
        { n: '43' },
        'a later write stores plain values, and needs no key',
      );
      expectEqual((await kv.get(KEY))?.sealed, undefined, 'nothing is sealed any more');
      expectEqual(await bench.tenant.kv.delete(`${KEY}.put`), true, 'deleting needs no key');
    },
  }),
  kvCase({
    id: 'kv/sealed-fields-have-their-own-place',
    title: 'each sealed field is encoded for its tenant, key and name',
    proves: ['KV-11', 'GEN-10'],
    needs: NEEDS,
    async run(bench) {
      const contexts: PayloadContext[] = [];
      const { kv } = bench.encoded(recording(contexts));
      for (const [name, write] of writesOf(bench.store)) {
        contexts.length = 0;
        await write(kv, `${KEY}.${name}`, 'secret');
        const own = { tenantId: bench.tenantId, kind: 'kv-field', owner: `${KEY}.${name}`, item: 'token' } as const;
        expectEqual(contexts, [own], `${name} encodes only the named field, for its own context`);
      }
    },
  }),
  kvCase({
    id: 'kv/sealed-fields-are-not-compared',
    title: 'a sealed field can only be expected to be absent, and no filter matches it',
    proves: ['KV-11', 'KV-3', 'KV-4'],
    needs: NEEDS,
    async run(bench) {
      const { kv } = bench.encoded(newCodec());
      await kv.put(KEY, { token: 'secret', plain: 'p' }, { sealed: ['token'] });
      const { revision } = (await kv.get(KEY))!;
      const refused: [string, string, () => Promise<unknown>][] = [
        ['a swap', 'expected.token', () => kv.swap(KEY, { expected: { token: 'secret' }, set: { plain: 'x' } })],
        ['a compareAndSwap', 'expected.token', () => kv.compareAndSwap(KEY, 'token', 'secret', 'other')],
        [
          'a swap that seals it',
          'expected.token',
          () => kv.swap('new', { expected: { token: 'a' }, set: { token: 'b' }, sealed: true }),
        ],
        [
          'a compareAndSwap that seals it',
          'expected.token',
          () => kv.compareAndSwap('new', 'token', 'a', 'b', { sealed: true }),
        ],
      ];
      if (bench.store.info.capabilities['kv.atomicBatch']) {
        const operation = { op: 'setFields', key: KEY, expected: { token: 'secret' }, fields: { plain: 'x' } } as const;
        refused.push(['a batch', 'operations[0].expected.token', () => kv.batch([operation])]);
      }
      for (const [name, field, call] of refused) {
        const error = await expectCode('INVALID_ARGUMENT', `${name} with a value is refused`, call);
        expectEqual(
          [error.field, error.rule?.includes('absent')],
          [field, true],
          'the error names the field and the rule',
        );
      }
      expectEqual((await kv.get(KEY))?.revision, revision, 'nothing was written');
      expectEqual(
        [
          await kv.compareAndSwap(KEY, 'token', null, 'x', { sealed: true }),
          (await kv.swap(KEY, { expected: { token: null }, set: { plain: 'x' } })).swapped,
          (await kv.swap(KEY, { expected: { plain: 'p' }, set: { plain: 'q' } })).swapped,
        ],
        [false, false, true],
        'absence is compared, and so are the other fields',
      );
      const matches = async (op: 'eq' | 'ne' | 'lt' | 'gte', value: string) =>
        (await scanKeys({ kv } as never, KEY, { field: 'token', op, value })).length;
      expectEqual(
        [await matches('eq', 'secret'), await matches('ne', 'x'), await matches('lt', 'z'), await matches('gte', '')],
        [0, 0, 0, 0],
        'no filter matches the sealed field',
      );
      expectEqual((await kv.count(KEY, { filter: { field: 'plain', op: 'eq', value: 'q' } })).count, 1, 'others match');
    },
  }),
  kvCase({
    id: 'kv/sealing-is-refused',
    title: 'sealing fields of jobs, unknown names or in a store without encryption fails before anything is written',
    proves: ['KV-11'],
    needs: NEEDS,
    async run(bench) {
      const { kv } = bench.encoded(newCodec());
      const job = 'gbe.state.tasks.email.job-1';
      const refused: [string, () => Promise<unknown>][] = [
        ['a field of a job', () => kv.put(job, { state: 'pending' }, { sealed: true })],
        ['a named field of a job', () => kv.setFields(job, { note: 'x' }, { sealed: ['note'] })],
        ['a name that is not written', () => kv.put(KEY, { token: 'x' }, { sealed: ['tokn'] })],
        ['another value', () => kv.put(KEY, { token: 'x' }, { sealed: 'token' as never })],
      ];
      for (const [name, call] of refused) {
        const { field } = await expectCode('INVALID_ARGUMENT', `${name} is refused`, call);
        expectEqual(field, 'sealed', 'the error names the option');
      }
      const onlyNoting: PayloadCodec = {
        encrypts: false,
        formOf: () => 'noted',
        encode: (payload) => payload,
        decode: (payload) => payload,
      };
      // The kit also runs on stores that encrypt, where the store of the bench does not refuse.
      const withoutCodec = (await sealsFields(bench.tenant)) ? [] : [bench.tenant];
      for (const store of [...withoutCodec, bench.encoded(onlyNoting)]) {
        for (const [name, write] of writesOf(bench.store))
          await expectCode('INVALID_ARGUMENT', `${name} without a codec that encrypts is refused`, () =>
            write(store.kv, KEY, 'x'),
          );
      }
      expectEqual([await kv.get(KEY), await kv.get(job)], [null, null], 'nothing was written');
      await bench.tenant.kv.put(KEY, { token: 'x' }, { sealed: false });
      await bench.tenant.kv.put(KEY, { token: 'x' }, { sealed: [] });
      expectEqual(await readTexts(bench.tenant, KEY), { token: 'x' }, 'sealing nothing needs no codec');
    },
  }),
  kvCase({
    id: 'kv/sealed-fields-change-keys',
    title: 'after a key rotation sealed fields are read with the old key and written with the new one',
    proves: ['KV-11', 'KV-12'],
    needs: NEEDS,
    async run(bench) {
      const keys = { old: randomBytes(32), new: randomBytes(32) };
      const before = bench.encoded(encryption({ keys, current: 'old' }));
      const after = bench.encoded(encryption({ keys, current: 'new' }));
      const retired = bench.encoded(encryption({ keys: { new: keys.new }, current: 'new' }));
      await before.kv.put(KEY, { token: 'old', plain: 'p' }, { sealed: ['token'] });
      await after.kv.put(`${KEY}.2`, { token: 'new' }, { sealed: true });
      expectEqual(await readTexts(after, KEY), { token: 'old', plain: 'p' }, 'the old key still opens it');
      expectEqual(await readTexts(retired, `${KEY}.2`), { token: 'new' }, 'new fields need the new key alone');
      const { keyId } = await expectCode('CODEC_FAILED', 'without the old key it cannot be read', () =>
        retired.kv.get(KEY),
      );
      expectEqual(keyId, 'old', 'the error names the missing key');
      await expectCode('CODEC_FAILED', 'a missing key is no damage: pages fail instead of omitting the record', () =>
        retired.kv.scanPage(KEY),
      );
      expectEqual(Buffer.from((await retired.kv.getField(KEY, 'plain'))!).toString(), 'p', 'plain fields need no key');
      const swap = await retired.kv.swap(KEY, { expected: { plain: 'p' }, set: { plain: 'q' } });
      expectEqual(
        [swap.swapped, textsOf(swap.record), swap.record?.sealed],
        [true, { plain: 'q' }, ['token']],
        'a write is not reported as failed because another field cannot be opened',
      );
      await after.kv.setFields(KEY, { token: Buffer.from((await after.kv.getField(KEY, 'token'))!) }, { sealed: true });
      expectEqual(await readTexts(retired, KEY), { token: 'old', plain: 'q' }, 'written again, it needs the new key');
    },
  }),
  kvCase({
    id: 'kv/sealed-form-cannot-be-forged',
    title: 'bytes that look like a sealed value are stored and compared like any others',
    proves: ['KV-11', 'KV-1'],
    async run(bench) {
      const { kv } = bench.tenant;
      const header = JSON.stringify({ steps: ['aes-256-gcm'], key: 'k' });
      const marker = Buffer.from('\xfftidemark\xfe', 'latin1');
      const forged = Buffer.concat([marker, Buffer.from([0, header.length]), Buffer.from(header), Buffer.from('data')]);
      for (const value of [forged, marker, Buffer.concat([marker, Buffer.from('no header')])]) {
        await kv.put(KEY, { value });
        const record = await kv.get(KEY);
        expect(Buffer.compare(record!.fields.value!, value) === 0, 'get returns them unchanged');
        expectEqual(record?.sealed, undefined, 'they are not sealed');
        expect(Buffer.compare((await kv.getField(KEY, 'value'))!, value) === 0, 'getField returns them unchanged');
        expectEqual((await kv.count(KEY, { filter: { field: 'value', op: 'eq', value } })).count, 1, 'filters match');
        expectEqual(await kv.compareAndSwap(KEY, 'value', value, 'next'), true, 'conditions match');
      }
    },
  }),
];

/** Returns whether a store seals a field on request, instead of storing it in plain form. */
async function sealsFields({ kv }: Store): Promise<boolean> {
  try {
    await kv.put(`${KEY}.probe`, { token: 'x' }, { sealed: true });
  } catch {
    return false;
  }
  const record = await kv.get(`${KEY}.probe`);
  await kv.delete(`${KEY}.probe`);
  return record?.sealed?.includes('token') ?? false;
}

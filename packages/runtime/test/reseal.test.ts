/** A key rotation of sealed fields while others write, and copies between stores with different keys. */
import { randomBytes } from 'node:crypto';
import { encryption, memoryStore, type Store, textOf } from '@tidemark/core';
import { withCodec } from '@tidemark/core/engine';
import { describe, expect, it } from 'vitest';
import { copyStore, resealRecords } from '../src/index.ts';

const keys = { old: randomBytes(32), new: randomBytes(32) };
const codecs = {
  before: encryption({ keys, current: 'old' }),
  after: encryption({ keys, current: 'new' }),
  retired: encryption({ keys: { new: keys.new }, current: 'new' }),
};

/** Returns one store under each codec. */
function rotating() {
  const plain = memoryStore();
  const under = (name: keyof typeof codecs) => withCodec(plain, codecs[name])!;
  return { plain, before: under('before'), after: under('after'), retired: under('retired') };
}

async function fill(store: Store): Promise<void> {
  for (const tenantId of ['default', 'acme']) {
    const { kv } = store.forTenant(tenantId);
    for (let n = 0; n < 120; n++)
      await kv.put(`key.${n}`, { token: `t${n}`, plain: n }, { sealed: ['token'], ttl: '1h' });
    await kv.put('plain', { a: 1 });
    await kv.put('odd', { ['__proto__']: 'x', constructor: 'y' }, { sealed: true });
  }
}

describe('resealRecords', () => {
  it('lets an old key be retired: every sealed field of every tenant is encrypted with the current one', async () => {
    const { before, after, retired } = rotating();
    await fill(before);
    await expect(retired.forTenant('acme').kv.get('key.7')).rejects.toMatchObject({ code: 'CODEC_FAILED' });
    expect(await resealRecords(after)).toEqual({ records: 244, resealed: 242, complete: true });
    for (const tenantId of ['default', 'acme']) {
      const { kv } = retired.forTenant(tenantId);
      const record = (await kv.get('key.7'))!;
      expect([textOf(record.fields.token), textOf(record.fields.plain)]).toEqual(['t7', '7']);
      expect(record.sealed).toEqual(['token']);
      expect(record.ttl).toBeGreaterThan(3_500_000);
      expect((await kv.get('plain'))?.sealed).toBeUndefined();
      expect(Object.keys((await kv.get('odd'))!.fields).toSorted()).toEqual(['__proto__', 'constructor']);
    }
  });

  it('loses no write of another client', async () => {
    const { before, after, retired } = rotating();
    for (let n = 0; n < 40; n++) await before.kv.put(`key.${n}`, { token: 'old', count: 0 }, { sealed: ['token'] });
    const writing = async () => {
      for (let n = 0; n < 200; n++) await after.kv.setField(`key.${n % 40}`, 'count', n);
    };
    const [report] = await Promise.all([resealRecords(after, { prefix: 'key.' }), writing()]);
    expect(report.resealed).toBe(40);
    for (let n = 0; n < 40; n++) {
      const { fields } = (await retired.kv.get(`key.${n}`))!;
      expect([textOf(fields.token), textOf(fields.count)]).toEqual(['old', String(160 + n)]);
    }
  });

  it('ends when its signal aborts, and fails without the old key', async () => {
    const { before, after, retired } = rotating();
    await fill(before);
    expect(await resealRecords(after, { signal: AbortSignal.abort() })).toMatchObject({ resealed: 0, complete: false });
    await expect(resealRecords(retired)).rejects.toMatchObject({ code: 'CODEC_FAILED', keyId: 'old' });
  });
});

describe('a copy of sealed fields', () => {
  it('is sealed in the target under its own key', async () => {
    const [{ before }, target] = [rotating(), rotating()];
    await fill(before);
    const report = await copyStore(before, target.retired);
    expect(report).toMatchObject({ complete: true });
    expect((await target.retired.kv.get('key.7'))?.sealed).toEqual(['token']);
    await expect(target.plain.kv.get('key.7')).rejects.toMatchObject({ code: 'CODEC_FAILED', keyId: 'new' });
    expect(await copyStore(before, target.retired)).toMatchObject({ complete: true });
    // A field that lost its seal is a difference, although its value is the same.
    await target.retired.kv.setField('key.7', 'token', 't7');
    await copyStore(before, target.retired);
    expect((await target.retired.kv.get('key.7'))?.sealed).toEqual(['token']);
  });

  it('is never stored in plain form: a target without a codec is reported', async () => {
    const [{ before }, target] = [rotating(), memoryStore()];
    await before.kv.put('k', { token: 'secret' }, { sealed: true });
    const { complete, problems } = await copyStore(before, target);
    expect([complete, JSON.stringify(problems).includes('codec')]).toEqual([false, true]);
    expect(await target.kv.get('k')).toBeNull();
  });
});

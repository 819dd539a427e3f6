import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { PayloadContext } from '../contracts/codec.ts';
import { memoryStore } from '../memory/store.ts';
import { isDamagedPayload } from './failure.ts';
import { formatSealed, isSealedValue, parseStored, plainForm, plainOf } from './sealed-value.ts';

const CONTEXT: PayloadContext = { tenantId: 't', kind: 'kv-field', owner: 'k', item: 'f' };
const SEALED = formatSealed({ steps: ['aes-256-gcm'], keyId: 'schlüssel', data: Buffer.from('data') });

describe('the stored form of a sealed value', () => {
  it('has steps, key and bytes', () => {
    expect(isSealedValue(SEALED)).toBe(true);
    const { steps, keyId, data } = parseStored(SEALED, CONTEXT);
    expect([steps, keyId, Buffer.from(data).toString()]).toEqual([['aes-256-gcm'], 'schlüssel', 'data']);
  });

  it('is never the stored form of a plain value', () => {
    for (const value of [SEALED, SEALED.subarray(0, 10), plainForm(SEALED), Buffer.alloc(0), randomBytes(20)]) {
      const stored = plainForm(value);
      expect(isSealedValue(stored)).toBe(false);
      expect(Buffer.compare(plainOf(stored), value)).toBe(0);
      expect(Buffer.compare(parseStored(stored, CONTEXT).data, value)).toBe(0);
    }
  });

  it('counts as sealed and as damaged when its header cannot be read', () => {
    for (let at = 10; at < SEALED.length - 4; at++) {
      const cut = SEALED.subarray(0, at);
      expect(isSealedValue(cut), String(at)).toBe(true);
      expect(() => parseStored(cut, CONTEXT)).toThrow(expect.toSatisfy(isDamagedPayload));
    }
  });

  it('leaves values alone that only begin with the same byte', async () => {
    const { kv } = memoryStore();
    await kv.put('k', { v: new Uint8Array([0xff]) });
    expect([...(await kv.getField('k', 'v'))!]).toEqual([0xff]);
  });
});

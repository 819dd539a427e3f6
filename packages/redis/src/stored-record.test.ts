import { describe, expect, it } from 'vitest';
import { companionOf, matchesSum, recordStart, sumOfField } from './record-sums.ts';
import { parseMeta, parseRecord } from './stored-record.ts';

const NAME = { space: 'kv', tenantId: 'default', key: 'state.1' } as const;
const START = recordStart(NAME);

/** Returns a reply of HGETALL, with each checksum after its field, or with all checksums at the end. */
function replyOf(fields: Record<string, string>, order: 'together' | 'apart' = 'together'): Buffer[] {
  const [flat, last]: [Buffer[], Buffer[]] = [[Buffer.from('\0'), Buffer.from('7')], []];
  for (const [field, value] of Object.entries(fields)) {
    const bytes = Buffer.from(value);
    flat.push(Buffer.from(field), bytes);
    const pair = [Buffer.from(companionOf(field)), Buffer.from(sumOfField(START, field, bytes))];
    (order === 'together' ? flat : last).push(...pair);
  }
  return [...flat, ...last];
}

describe('records on Redis', () => {
  it('spell checksums as `toString(36)` does, and accept no other spelling', () => {
    for (let at = 0; at < 20_000; at++) {
      const value = Buffer.from(`value ${at}`);
      const text = sumOfField(START, 'field', value);
      expect(Number.parseInt(text, 36).toString(36)).toBe(text);
      expect(matchesSum(START, 'field', value, Buffer.from(text))).toBe(true);
      if (at < 100) expect(matchesSum(START, 'field', value, Buffer.from(`0${text}`))).toBe(false);
      if (/[a-z]/.test(text)) expect(matchesSum(START, 'field', value, Buffer.from(text.toUpperCase()))).toBe(false);
    }
    expect(matchesSum(START, 'field', Buffer.from(''), Buffer.from(''))).toBe(false);
  });

  it('can be read with the checksums in any order', () => {
    for (const order of ['together', 'apart'] as const) {
      const record = parseRecord(NAME, replyOf({ state: 'pending', wörker: 'none', empty: '' }, order));
      expect(record?.damaged ?? record?.unsummed).toBeUndefined();
      expect([...record!.fields.keys()]).toEqual(['state', 'wörker', 'empty']);
    }
  });

  it("can be read if the store's own field is between a field and its checksum", () => {
    const [own, meta, field, value, companion, sum] = replyOf({ state: 'pending' }) as Buffer[];
    const record = parseRecord(NAME, [field!, value!, own!, meta!, companion!, sum!]);
    expect(record).toEqual({ fields: new Map([['state', value]]), revision: 7, expiresAt: null });
  });

  it('are damaged by any flipped bit in the name or value of a field or of its checksum', () => {
    for (const order of ['together', 'apart'] as const) {
      for (const fields of [{ worker: '12' }, { state: 'pending', worker: 'none' }] as Record<string, string>[]) {
        const reply = replyOf(fields, order);
        // The store's own field has no checksum.
        for (let part = 2; part < reply.length; part++) {
          for (let bit = 0; bit < reply[part]!.length * 8; bit++) {
            const flipped = reply.map((bytes) => Buffer.from(bytes));
            flipped[part]![bit >> 3]! ^= 1 << (bit & 7);
            expect(parseRecord(NAME, flipped)?.damaged, `${order} ${part} ${bit}`).toBe(true);
          }
        }
      }
    }
  });

  it('may have fields without a checksum', () => {
    const reply = [...replyOf({ state: 'pending' }), Buffer.from('claimedAt'), Buffer.from('1790000000000')];
    expect(parseRecord(NAME, reply)).toMatchObject({ revision: 7 });
    expect(parseRecord(NAME, reply)?.damaged).toBeUndefined();
    expect(parseRecord(NAME, reply.slice(0, 4))?.unsummed).toBe(true);
  });

  it('need a revision that consists of digits', () => {
    expect(parseMeta(Buffer.from('12:345\0request'))).toEqual({ revision: 12, expiresAt: 345 });
    expect(parseMeta(Buffer.from('12\0request:1'))).toEqual({ revision: 12, expiresAt: null });
    for (const text of ['1x', '-1', '1e5', '1:2:3', '1:x']) expect(parseMeta(Buffer.from(text)).revision).toBeNaN();
  });
});

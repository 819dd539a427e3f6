import { describe, expect, it } from 'vitest';
import type { PayloadContext } from '../contracts/codec.ts';
import { Payloads } from './payloads.ts';
import { checkedJson, checkedText, hasSum, withSum } from './summed-text.ts';

const CONTEXT: PayloadContext = { tenantId: 'acme', kind: 'memory', owner: 'key' };
const TEXT = '{"a":1}';

describe('a string with a sum', () => {
  it('is distinguished from one without', () => {
    expect(hasSum(TEXT)).toBe(false);
    expect(hasSum(withSum(TEXT, CONTEXT, ''))).toBe(true);
    expect(checkedText(TEXT, CONTEXT, '')).toBe(TEXT);
    expect(checkedText(withSum(TEXT, CONTEXT, ''), CONTEXT, '')).toBe(TEXT);
  });

  it('ends with as much white space as a sum has, and other amounts are damage', () => {
    const length = withSum(TEXT, CONTEXT, '').length - TEXT.length;
    for (const count of [1, length - 1, length + 1, length + 2, 4 * length])
      expect(() => checkedText(TEXT + ' '.repeat(count), CONTEXT, ''), `${count} spaces`).toThrow(
        expect.objectContaining({ code: 'CORRUPT_VALUE', field: 'key' }),
      );
    expect(() => checkedText(withSum(`${TEXT} `, CONTEXT, ''), CONTEXT, '')).toThrow(
      expect.objectContaining({ code: 'CORRUPT_VALUE' }),
    );
  });

  it('is reported with the name of the stored value when it is damaged', () => {
    const damaged = (field: string) => expect.objectContaining({ code: 'CORRUPT_VALUE', field });
    const changed = withSum(TEXT, CONTEXT, '').replace('1', '2');
    expect(() => checkedText(changed, CONTEXT, '')).toThrow(damaged('key'));
    expect(() => checkedText(changed, { ...CONTEXT, item: 'part' }, '')).toThrow(damaged('key / part'));
    expect(() => checkedJson('{"a":', CONTEXT)).toThrow(damaged('key'));
  });

  it('is stored for documents, and not for events, which have their chain', () => {
    const payloads = new Payloads(null);
    expect(payloads.encode(TEXT, CONTEXT, 'other')).toBe(withSum(TEXT, CONTEXT, 'other'));
    expect(payloads.encode(TEXT, { ...CONTEXT, kind: 'event' })).toBe(TEXT);
    expect(payloads.check(payloads.encode(TEXT, CONTEXT), CONTEXT)).toBe(true);
    expect(payloads.check(TEXT, CONTEXT)).toBe(false);
    expect(() => payloads.decode(payloads.encode(TEXT, CONTEXT).replace('1', '2'), CONTEXT)).toThrow(
      expect.objectContaining({ code: 'CORRUPT_VALUE' }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import type { PayloadContext } from '../contracts/codec.ts';
import { checkedJson, checkedText, hasSum, withSum } from './summed-text.ts';

const CONTEXT: PayloadContext = { tenantId: 'acme', kind: 'memory', owner: 'key' };
const TEXT = '{"a":1}';

describe('a text with a sum', () => {
  it('is distinguished from one without', () => {
    expect(hasSum(TEXT)).toBe(false);
    expect(hasSum(withSum(TEXT, CONTEXT, ''))).toBe(true);
    expect(checkedText(TEXT, CONTEXT, '')).toBe(TEXT);
    expect(checkedText(withSum(TEXT, CONTEXT, ''), CONTEXT, '')).toBe(TEXT);
  });

  it('is reported with the name of the stored value when it is damaged', () => {
    const damaged = (field: string) => expect.objectContaining({ code: 'CORRUPT_VALUE', field });
    const changed = withSum(TEXT, CONTEXT, '').replace('1', '2');
    expect(() => checkedText(changed, CONTEXT, '')).toThrow(damaged('key'));
    expect(() => checkedText(changed, { ...CONTEXT, item: 'part' }, '')).toThrow(damaged('key / part'));
    expect(() => checkedJson('{"a":', CONTEXT)).toThrow(damaged('key'));
  });
});

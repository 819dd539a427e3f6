import { describe, expect, it } from 'vitest';
import type { PayloadContext } from '../contracts/codec.ts';
import { checkedJson, checkedText, hasSum, withSum } from './summed-text.ts';

const PLACE: PayloadContext = { tenantId: 'acme', kind: 'memory', owner: 'key' };
const TEXT = '{"a":1}';

describe('a text with a sum', () => {
  it('is told from one without', () => {
    expect(hasSum(TEXT)).toBe(false);
    expect(hasSum(withSum(TEXT, PLACE, ''))).toBe(true);
    expect(checkedText(TEXT, PLACE, '')).toBe(TEXT);
    expect(checkedText(withSum(TEXT, PLACE, ''), PLACE, '')).toBe(TEXT);
  });

  it('is damaged under the name of what was stored', () => {
    const damaged = (field: string) => expect.objectContaining({ code: 'CORRUPT_VALUE', field });
    const changed = withSum(TEXT, PLACE, '').replace('1', '2');
    expect(() => checkedText(changed, PLACE, '')).toThrow(damaged('key'));
    expect(() => checkedText(changed, { ...PLACE, item: 'part' }, '')).toThrow(damaged('key / part'));
    expect(() => checkedJson('{"a":', PLACE)).toThrow(damaged('key'));
  });
});

import { describe, expect, it } from 'vitest';
import { checkText } from './text.ts';

describe('checkText', () => {
  it('accepts well-formed text up to its limit in bytes', () => {
    expect(checkText('äöü', 'name', 6)).toBe('äöü');
    for (const value of ['äöüx', 'a\0', '\ud800', 7, undefined])
      expect(() => checkText(value, 'name', 6)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'name' }),
      );
  });
});

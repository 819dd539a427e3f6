import { describe, expect, it } from 'vitest';
import { checkText } from './text.ts';

describe('a text', () => {
  it('may have as many bytes as its limit, and no more', () => {
    expect(checkText('äöü', 'name', 6)).toBe('äöü');
    for (const value of ['äöüx', 'a\0', '\ud800', 7, undefined])
      expect(() => checkText(value, 'name', 6)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'name' }),
      );
  });
});

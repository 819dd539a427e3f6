/** JSON bodies: every double reaches a server that rejects long integers, and all other values are sent unchanged. */
import { parseJsonText } from '@tidemark/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyOf } from './bodies.ts';

const MAX_BYTES = 1_000_000;

describe('bodyOf', () => {
  it('carries every JSON value through a strict parser (GEN-4)', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (payload) => {
        const parsed = parseJsonText(bodyOf({ payload }, MAX_BYTES), 'body');
        expect(parsed).toEqual({ payload: JSON.parse(JSON.stringify(payload)) });
      }),
    );
  });

  it('writes integers beyond 2^53 with an exponent and leaves other digits alone', () => {
    const payload = [2 ** 53, -(2 ** 60), 123456789012345.1, -0.000009007200602944082, '"9007199254740993', 1e21];
    const text = bodyOf({ payload }, MAX_BYTES);
    expect(text).toContain('9.007199254740992e+15');
    expect(text).toContain('"\\"9007199254740993"');
    expect(parseJsonText(text, 'body')).toEqual({ payload });
  });

  it('omits undefined members and rejects values that JSON would lose', () => {
    expect(bodyOf({ a: undefined, b: 1 }, MAX_BYTES)).toBe('{"b":1}');
    expect(() => bodyOf({ ts: Number.NaN }, MAX_BYTES)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'ts' }),
    );
    expect(() => bodyOf({ payload: { n: Number.NaN } }, MAX_BYTES)).toThrow(
      expect.objectContaining({ code: 'INVALID_PAYLOAD', field: 'payload.n' }),
    );
  });
});

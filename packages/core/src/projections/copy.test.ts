/** Copies of states: plain JSON of at most 64 levels, without −0 and with members of any name. */
import { describe, expect, it } from 'vitest';
import { checkScalar, copyJson, writeMember } from './copy.ts';

function nested(levels: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < levels; level++) value = level % 2 ? [value] : { value };
  return value;
}

describe('copyJson', () => {
  it('copies every object once, and leaves out absent members', () => {
    const shared = { n: 1 };
    const copy = copyJson({ a: shared, b: [shared, null], c: undefined }) as { a: object; b: object[] };
    expect(copy).toStrictEqual({ a: { n: 1 }, b: [{ n: 1 }, null] });
    expect(copy.a).not.toBe(shared);
    expect(copy.a).not.toBe(copy.b[0]);
  });

  it('accepts 64 levels and no more', () => {
    expect(copyJson(nested(64))).toEqual(nested(64));
    expect(() => copyJson(nested(65))).toThrow('State is nested more than 64 levels deep');
    expect(() => copyJson({ value: nested(64) })).toThrow(TypeError);
  });

  it.each([
    [new Date(), 'State is plain JSON, not a Date'],
    [new Map(), 'State is plain JSON, not a Map'],
    [[undefined], 'State is plain JSON, not a value of type undefined'],
    [() => 1, 'State is plain JSON, not a value of type function'],
    [1n, 'State is plain JSON, not a value of type bigint'],
    [Number.NaN, 'State is plain JSON: NaN is not a finite number'],
    [Number.POSITIVE_INFINITY, 'State is plain JSON: Infinity is not a finite number'],
  ])('refuses %s', (value, message) => {
    expect(() => copyJson({ value })).toThrow(message);
  });
});

it('numbers lose only the sign of zero', () => {
  expect([-0, 0, -1.5, 'x', true, null].map(checkScalar).map((it) => Object.is(it, -0))).not.toContain(true);
  expect([-1.5, 'x', false, null].map(checkScalar)).toEqual([-1.5, 'x', false, null]);
});

it('members of any name are written as own members', () => {
  const target: Record<string, unknown> = {};
  for (const name of ['a', '__proto__', 'constructor']) writeMember(target, name, { own: name });
  expect(Object.keys(target)).toEqual(['a', '__proto__', 'constructor']);
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
});

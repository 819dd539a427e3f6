import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys, compareValues } from './order.ts';

const compare = (a: string, b: string) => Math.sign(compareValues(Buffer.from(a), Buffer.from(b)));

describe('compareValues (KV-5)', () => {
  it.each([
    ['9', '10', -1],
    ['-1', '0', -1],
    ['-10', '-9', -1],
    ['-0', '0', 0],
    ['99999999999999999999', '100000000000000000000', -1],
    ['09', '10', -1],
    ['9', '1e1', 1],
    ['9', '10.0', 1],
    ['b', 'a', 1],
    ['', '0', -1],
    ['-', '1', -1],
  ])('compares %j with %j as %i', (a, b, order) => {
    expect([compare(a, b), compare(b, a) + 0]).toEqual([order, order === 0 ? 0 : -order]);
  });

  it('agrees with BigInt for integers of any size', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (a, b) => compare(String(a), String(b)) === (a < b ? -1 : a > b ? 1 : 0)),
    );
  });
});

describe('compareKeys (KV-4)', () => {
  it('orders by UTF-8 bytes, even above U+FFFF', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(
        text,
        text,
        (a, b) => Math.sign(compareKeys(a, b)) === Buffer.compare(Buffer.from(a), Buffer.from(b)),
      ),
    );
    expect(compareKeys('\uffee', '\u{10000}')).toBe(-1);
  });
});

/** Pieces of any size are joined into the same bytes. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pieces } from './pieces.ts';

const sizes = fc.array(fc.oneof(fc.nat(20), fc.constantFrom(4_095, 4_096, 65_536, 70_000)), { maxLength: 60 });

it('joins pieces of any size in order, and can be reused', () => {
  fc.assert(
    fc.property(sizes, sizes, (first, second) => {
      const pieces = new Pieces();
      for (const round of [first, second]) {
        const all = round.map((size, at) => Buffer.alloc(size, at + 1));
        for (const piece of all) pieces.add(piece);
        expect(pieces.bytes).toBe(Buffer.concat(all).length);
        const last = Buffer.from('last');
        expect(pieces.take(last).equals(Buffer.concat([...all, last]))).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

it('keeps one piece as it is, and joins many small ones into blocks', () => {
  const pieces = new Pieces();
  const one = Buffer.from('x');
  pieces.add(one);
  expect(pieces.take()).toBe(one);
  let cost = 0;
  for (let n = 0; n < 100_000; n++) {
    cost += pieces.costOf(one);
    pieces.add(one);
  }
  expect(cost).toBeLessThan(2 * 65_536 + 1_000);
  expect(pieces.take()).toHaveLength(100_000);
});

/** Bounds of scans, compared with a plain filter over keys around every edge. */
import { describe, expect, it } from 'vitest';
import { boundsOf, keysWithin } from './key-bounds.ts';
import { compareKeys } from './order.ts';

const KEYS = ['', 'a', 'a!', 'aa', 'ab', 'b', 'ba', '\ud7ff', '\ud7ffa', '\ue000', '\u{10ffff}', '\u{10ffff}a'].sort(
  compareKeys,
);
const list = {
  from: (start: string) => KEYS.filter((key) => compareKeys(key, start) >= 0),
  below: (end?: string) => KEYS.filter((key) => end === undefined || compareKeys(key, end) < 0).reverse(),
};

/** Every combination of a prefix, both bounds and a position. */
const RANGES = ['', 'a', 'b', '\ud7ff', '\u{10ffff}', 'a\u{10ffff}'].flatMap((prefix) =>
  [undefined, 'a', 'ab', '\ue000'].flatMap((from) =>
    [undefined, 'a', 'ab', 'b', '\u{10ffff}a'].flatMap((to) =>
      [null, 'a', 'aa', 'b', '\ud7ff'].map((after) => ({ prefix, from, to, after })),
    ),
  ),
);

describe.each([false, true])('a scan with reverse %s', (reverse) => {
  it('finds the keys that a filter finds', () => {
    for (const { prefix, from, to, after } of RANGES) {
      const wanted = KEYS.filter(
        (key) =>
          key.startsWith(prefix) &&
          (from === undefined || compareKeys(key, from) >= 0) &&
          (to === undefined || compareKeys(key, to) < 0) &&
          (after === null || (reverse ? compareKeys(key, after) < 0 : compareKeys(key, after) > 0)),
      );
      const range = { prefix, after, reverse, ...(from && { from }), ...(to && { to }) };
      const found = [...keysWithin(list, boundsOf(range), reverse)];
      expect(found, JSON.stringify(range)).toEqual(reverse ? wanted.toReversed() : wanted);
    }
  });
});

it('ends a prefix before the next code point, leaving out surrogates', () => {
  const highOf = (prefix: string) => boundsOf({ prefix, after: null }).high;
  expect(['', 'a', 'a\ud7fe', 'a\ud7ff', '\ue000', '\u{10ffff}', 'a\u{10ffff}', '\u{10fffe}'].map(highOf)).toEqual([
    ...[null, 'b', 'a\ud7ff', 'a\ue000', '\ue001', null, 'b', '\u{10ffff}'],
  ]);
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinKey, keyPrefix, splitKey } from './joined-keys.ts';

const part = fc.option(
  fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.array(fc.constantFrom('%', '/', '-', '2', 'F', '5', '.'), { minLength: 1 }).map((it) => it.join('')),
  ),
);
const parts = fc.array(part, { minLength: 1, maxLength: 4 });

it('splits every key into the parts it was joined from (GEN-5)', () => {
  fc.assert(
    fc.property(parts, (it) => {
      expect(splitKey(joinKey(it))).toEqual(it);
    }),
  );
});

it('makes a prefix that matches only keys with the same first parts', () => {
  fc.assert(
    fc.property(parts, parts, (one, two) => {
      const isBelow = two.length > one.length && one.every((it, at) => it === two[at]);
      expect(joinKey(two).startsWith(keyPrefix(one))).toBe(isBelow);
    }),
  );
  expect(joinKey(['a', 'b', 't']).startsWith(keyPrefix(['a']))).toBe(true);
  expect(joinKey(['a/b', 't']).startsWith(keyPrefix(['a']))).toBe(false);
  expect(joinKey(['ab', 't']).startsWith(keyPrefix(['a']))).toBe(false);
});

/** Pages and their cursors: a cursor continues the list that returned it and no other. */
import { expect, it } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
import { cursorKey, inParts, pageOf, withDamage } from './paging.ts';

const same = (text: string) => text;

it('names the next page only when there is one', () => {
  expect(pageOf('a', ['1', '2'], 2, same, same)).toEqual({ items: ['1', '2'] });
  const page = pageOf('a', ['1', '2', '3'], 2, same, same);
  expect(page.items).toEqual(['1', '2']);
  expect(cursorKey('a', page.next)).toBe('2');
  expect(cursorKey('a', undefined)).toBeNull();
});

it.each([
  ['another list', ['b', '2']],
  ['an additional value', ['a', '2', '3']],
  ['no key', ['a']],
  ['a number as its key', ['a', 2]],
])('refuses a cursor of %s', (_, values) => {
  expect(() => cursorKey('a', encodeCursor(values))).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'cursor' }),
  );
});

it('adds names of damaged items to existing names', () => {
  expect(withDamage({ items: [] }, [])).toEqual({ items: [] });
  expect(withDamage({ items: [], damaged: ['a'] }, ['b'])).toEqual({ items: [], damaged: ['a', 'b'] });
});

it('cuts arrays into parts of at most a size', () => {
  expect([...inParts([], 2)]).toEqual([]);
  expect([...inParts([1, 2], 2)]).toEqual([[1, 2]]);
  expect([...inParts([1, 2, 3, 4, 5], 2)]).toEqual([[1, 2], [3, 4], [5]]);
});

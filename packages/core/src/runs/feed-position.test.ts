/** Cursors of a feed with quarantined runs: read back as written, and refused when they are made up. */
import { describe, expect, it } from 'vitest';
import { encodeCursor } from '../checks/json.ts';
import { encodePosition, type FeedPosition, parseCursor } from './feed-position.ts';

const at = (engine: string | null, release: number | null, reading: FeedPosition['reading'] = null): FeedPosition => ({
  ...{ engine, release, reading },
});
const composite = (...parts: unknown[]) => `q1.${encodeCursor(parts)}`;

describe('a position', () => {
  it.each([
    [at('e5', 0), 'e5'],
    [at('e5', 3), composite(3, 'e5')],
    [at('e5', 0, { release: 1, seq: 0 }), composite(0, 'e5', 1, 0)],
    [at('e5', 3, { release: 4, seq: 7 }), composite(3, 'e5', 4, 7)],
  ])('%j is read back from its cursor', (position, cursor) => {
    expect(encodePosition(position)).toBe(cursor);
    expect(parseCursor(cursor)).toEqual(position);
  });

  it('before the first event has no cursor', () => {
    expect(encodePosition(at(null, 3, { release: 4, seq: 7 }))).toBeNull();
    expect(parseCursor(undefined)).toEqual(at(null, null));
    expect(encodePosition(at('e5', null))).toBe('e5');
  });
});

describe('a cursor', () => {
  it.each([
    ['nothing', ''],
    ['null', null],
    ['a number', 7],
    ['text that is not encoded', 'q1.x'],
    ['an object', `q1.${Buffer.from('{"length":2}').toString('base64url')}`],
    ['one value', composite(3)],
    ['three values', composite(3, 'e5', 4)],
    ['five values', composite(3, 'e5', 4, 7, 1)],
    ['no position of the engine', composite(3, '')],
    ['a number as position', composite(3, 5)],
    ['a position inside a position', composite(3, composite(3, 'e5'))],
    ['a negative release', composite(-1, 'e5')],
    ['half a release', composite(0.5, 'e5')],
    ['a release that is being read and was read', composite(3, 'e5', 3, 7)],
    ['an earlier release that is being read', composite(3, 'e5', 2, 7)],
    ['text as the release being read', composite(3, 'e5', '4', 7)],
    ['a negative sequence', composite(3, 'e5', 4, -1)],
    ['text as sequence', composite(3, 'e5', 4, '7')],
  ])('with %s is refused', (_, cursor) => {
    expect(() => parseCursor(cursor)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'cursor', rule: 'a cursor of this feed' }),
    );
  });
});

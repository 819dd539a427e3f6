import { describe, expect, it } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('LruMap', () => {
  it('drops the least recently used entry', () => {
    const recent = new LruMap<string, string>(2);
    recent.set('a', 'A');
    recent.set('b', 'B');
    expect(recent.get('a')).toBe('A');
    recent.set('c', 'C');
    expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual(['A', undefined, 'C']);
  });

  it('counts a set as a use, but not a peek', () => {
    const recent = new LruMap<string, string>(2);
    recent.set('a', 'A');
    recent.set('b', 'B');
    recent.set('a', 'again');
    expect(recent.peek('b')).toBe('B');
    recent.set('c', 'C');
    expect([...recent]).toEqual([
      ['a', 'again'],
      ['c', 'C'],
    ]);
    expect([recent.has('b'), recent.delete('a'), recent.delete('a'), recent.size]).toEqual([false, true, false, 1]);
  });

  it('replaces an existing value without counting a use, and sets a new one', () => {
    const recent = new LruMap<string, number>(2);
    for (const key of ['a', 'b', 'a', 'c']) recent.replace(key, key.charCodeAt(0));
    expect([...recent].map(([key]) => key)).toEqual(['b', 'c']);
  });

  it('drops a sixteenth of a large limit at once', () => {
    const recent = new LruMap<number, string>(160);
    for (let key = 0; key < 160; key++) recent.set(key, 'held');
    expect(recent.size).toBe(160);
    recent.set(160, 'one more');
    expect([...recent].map(([key]) => key)).toEqual(Array.from({ length: 150 }, (_, at) => at + 11));
  });

  it('keeps the newest entry even if it is too heavy, and weighs an entry again on every set', () => {
    const recent = new LruMap<string, number>(10, (weight) => weight);
    recent.set('a', 4);
    recent.set('b', 50);
    expect([recent.get('a'), recent.get('b')]).toEqual([undefined, 50]);
    recent.set('b', 1);
    recent.set('a', 9);
    expect([recent.get('a'), recent.get('b')]).toEqual([9, 1]);
  });
});

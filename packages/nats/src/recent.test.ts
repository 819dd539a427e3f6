import { describe, expect, it } from 'vitest';
import { Recent } from './recent.ts';

describe('Recent', () => {
  it('lets the one go that was not used for longest', () => {
    const recent = new Recent<string>(2);
    recent.set('a', 'A');
    recent.set('b', 'B');
    expect(recent.get('a')).toBe('A');
    recent.set('c', 'C');
    expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual(['A', undefined, 'C']);
  });

  it('keeps the newest, whatever it weighs, and weighs anew what is set again', () => {
    const recent = new Recent<number>(10, (weight) => weight);
    recent.set('a', 4);
    recent.set('b', 50);
    expect([recent.get('a'), recent.get('b')]).toEqual([undefined, 50]);
    recent.set('b', 1);
    recent.set('a', 9);
    expect([recent.get('a'), recent.get('b')]).toEqual([9, 1]);
  });
});

import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { corruptValue, Damage } from './damage.ts';
import { sumBytes, sumInteger, sumName, sumNames } from './sums.ts';

describe('sums', () => {
  it('are CRC-32 for short and long input', () => {
    for (let length = 0; length < 400; length++) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 131 + length) & 0xff);
      for (const from of [0, 1, -1, 0x7fffffff]) expect(sumBytes(bytes, from)).toBe(crc32(bytes, from >>> 0) | 0);
    }
  });

  it('of names continue from each other and depend on where a name ends', () => {
    expect(sumNames(['kv', 'acme', 'key'])).toBe(sumName('key', sumName('acme', sumName('kv', 0))));
    expect(sumNames(['a', 'bc'])).not.toBe(sumNames(['ab', 'c']));
    expect(sumNames(['é'])).not.toBe(sumNames(['e']));
    expect(sumNames(['\u0141'])).not.toBe(sumNames(['A']));
  });

  it('of integers differ when the integers differ in one bit', () => {
    const values = [null, 0, ...Array.from({ length: 53 }, (_, bit) => 2 ** bit)];
    expect(new Set(values.map((value) => sumInteger(value, 7))).size).toBe(values.length);
  });
});

describe('damage', () => {
  it('is recorded and reported at the end, while other errors are thrown immediately', () => {
    const damage = new Damage();
    expect(damage.attempt(() => 1)).toBe(1);
    damage.note(corruptValue('record', 'k'));
    expect(damage.names).toEqual(['k']);
    expect(() => damage.report()).toThrow(expect.objectContaining({ code: 'CORRUPT_VALUE', field: 'k' }));
    const names: string[] = [];
    damage.report(names);
    expect(names).toEqual(['k']);
    expect(() => damage.note(new Error('other'))).toThrow('other');
  });
});

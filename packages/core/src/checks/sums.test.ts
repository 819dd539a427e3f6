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

  it('of integers are the sums of their eight bytes, lowest byte first', () => {
    for (const value of [0, 1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(BigInt(value));
      for (const from of [0, 7, -1]) expect(sumInteger(value, from)).toBe(crc32(bytes, from >>> 0) | 0);
    }
    expect(sumInteger(null, 7)).toBe(crc32(Buffer.alloc(1), 7) | 0);
  });

  it('of names are the sums of their code units and a NUL', () => {
    const bytesOf = (name: string) =>
      Buffer.from(
        [...name].flatMap((char) =>
          char > '\u00ff' ? [char.charCodeAt(0) & 0xff, char.charCodeAt(0) >>> 8] : [char.charCodeAt(0)],
        ),
      );
    for (const name of ['', 'a', '\u00fe', '\u00ff', '\u0100', '\u0141b', 'key'])
      for (const from of [0, 7, -1])
        expect(sumName(name, from)).toBe(crc32(Buffer.concat([bytesOf(name), Buffer.alloc(1)]), from >>> 0) | 0);
  });

  it('of integers differ when the integers differ in one bit', () => {
    const values = [null, 0, ...Array.from({ length: 53 }, (_, bit) => 2 ** bit)];
    expect(new Set(values.map((value) => sumInteger(value, 7))).size).toBe(values.length);
  });
});

describe('damage', () => {
  it('names what was damaged, and its cause where there is one', () => {
    const error = corruptValue('record', 'k');
    expect(error).toMatchObject({ code: 'CORRUPT_VALUE', field: 'k', rule: 'what was stored', retryable: false });
    expect(error.message).toMatch(/^The stored record "k" does not match its checksum/);
    expect(Object.hasOwn(error, 'cause')).toBe(false);
    const cause = new Error('why');
    expect(corruptValue('record', 'k', cause).cause).toBe(cause);
  });

  it('is recorded and reported at the end, while other errors are thrown immediately', () => {
    const damage = new Damage();
    expect(damage.attempt(() => 1)).toBe(1);
    damage.note(corruptValue('record', 'k'));
    expect(damage.names).toEqual(['k']);
    expect(() => damage.report()).toThrow(expect.objectContaining({ code: 'CORRUPT_VALUE', field: 'k' }));
    const names: string[] = [];
    damage.report(names);
    expect(names).toEqual(['k']);
    expect(() => new Damage().report()).not.toThrow();
    expect(() => damage.note(new Error('other'))).toThrow('other');
  });
});

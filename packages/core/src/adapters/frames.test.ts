/** Frames and fields of adapters: round trips at every boundary, and damage that is refused instead of returned. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cutIntoFields, type Frame, joinFields, packFrames, unpackFrames } from './frames.ts';

const CORRUPT = (rule: string) => expect.objectContaining({ code: 'CORRUPT_VALUE', rule });
const plain = (frames: readonly Frame[]) => frames.map(({ type, bytes }) => [type, Buffer.from(bytes)]);
const FRAMES: Frame[] = [
  { type: 'json', bytes: Buffer.from('{"a":1}') },
  { type: '', bytes: Buffer.alloc(0) },
  { type: 'bytes é', bytes: randomBytes(300) },
];

describe('frames', () => {
  it.each([{}, { compress: false }, { compress: true }])('are returned as they were packed: %j', (options) => {
    for (const frames of [[], FRAMES, [{ type: 'zeros', bytes: Buffer.alloc(5_000) }]])
      expect(plain(unpackFrames(packFrames(frames, options)))).toEqual(plain(frames));
  });

  it('are compressed from 1 KiB on, and only where that makes them smaller', () => {
    // One byte for the format, eight for lengths, one for the name.
    const ofSize = (size: number) => [{ type: 'z', bytes: Buffer.alloc(size - 10) }];
    const formatOf = (frames: Frame[], compress = true) => packFrames(frames, { compress })[0];
    expect(packFrames(ofSize(1024))).toHaveLength(1024);
    expect([formatOf(ofSize(1023)), formatOf(ofSize(1024)), formatOf(ofSize(1024), false)]).toEqual([0, 1, 0]);
    expect(packFrames(ofSize(1024), { compress: true }).length).toBeLessThan(100);
    const noise = [{ type: 'z', bytes: randomBytes(4_000) }];
    expect(packFrames(noise, { compress: true })).toEqual(packFrames(noise));
  });

  it('are rejected when they are cut or their format is unknown', () => {
    const packed = packFrames(FRAMES);
    for (let length = 2; length < packed.length; length++) {
      const cut = packed.subarray(0, length);
      // The first frame ends after 20 bytes, the empty one after 28.
      const isWhole = length === 20 || length === 28;
      if (isWhole) expect(unpackFrames(cut).length).toBeLessThan(FRAMES.length);
      else expect(() => unpackFrames(cut), `${length} bytes`).toThrow(CORRUPT('it ends within a frame'));
    }
    for (const format of [2, 7, 255])
      expect(() => unpackFrames(Buffer.concat([Buffer.of(format), packed.subarray(1)]))).toThrow(
        CORRUPT('its first byte names no format'),
      );
    expect(() => unpackFrames(Buffer.alloc(0))).toThrow(CORRUPT('its first byte names no format'));
  });
});

describe('fields', () => {
  it('are joined again, for any number of fields', () => {
    for (const length of [0, 1, 5, 6, 7, 15, 16, 17, 100]) {
      const bytes = randomBytes(length);
      const fields = cutIntoFields('value', bytes, 10);
      expect(Object.keys(fields)).toHaveLength(Math.max(1, Math.ceil((length + 4) / 10)));
      for (const part of Object.values(fields)) expect(part.length).toBeLessThanOrEqual(10);
      expect(Buffer.from(joinFields('value', fields)!)).toEqual(bytes);
    }
  });

  it('have names that a reader finds, and are absent together', () => {
    expect(Object.keys(cutIntoFields('value', Buffer.alloc(20), 10))).toEqual(['value', 'value.1', 'value.2']);
    expect(joinFields('value', {})).toBeNull();
    expect(joinFields('value', { other: Buffer.alloc(9) })).toBeNull();
  });

  it('are rejected when one is missing or too short', () => {
    const fields = cutIntoFields('value', Buffer.alloc(20), 10);
    for (const name of ['value.1', 'value.2']) {
      const { [name]: _, ...rest } = fields;
      expect(() => joinFields('value', rest)).toThrow(CORRUPT(`its field "${name}" is missing`));
    }
    for (const length of [0, 3])
      expect(() => joinFields('value', { value: Buffer.alloc(length) })).toThrow(
        CORRUPT('its first field is too short'),
      );
    expect(joinFields('value', { value: Buffer.from([0, 0, 0, 1]) })).toHaveLength(0);
  });
});

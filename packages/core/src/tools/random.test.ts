import { expect, it } from 'vitest';
import { randomBytes } from './random.ts';

it.each([1, 7, 16, 17, 32])('returns %i bytes that no other call returns', (length) => {
  const found = Array.from({ length: 3_000 }, () => randomBytes(length));
  expect(new Set(found.map((bytes) => bytes.length))).toEqual(new Set([length]));
  if (length >= 7) expect(new Set(found.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(found.length);
  // A caller may change what it got.
  for (const bytes of found) bytes.fill(0);
  expect(randomBytes(16).some((byte) => byte !== 0)).toBe(true);
});

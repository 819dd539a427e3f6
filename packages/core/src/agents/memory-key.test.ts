import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryKey, parseMemoryKey } from './memory-key.ts';

it('escapes the parts, so that different triples have different keys (AGT-5)', () => {
  expect(memoryKey('acme', 'user', 'session')).toBe('acme:user:session');
  expect(memoryKey('a:b', 'c', 'd')).toBe('a%3Ab:c:d');
  expect(memoryKey('a', 'b:c', 'd')).not.toBe(memoryKey('a:b', 'c', 'd'));
});

it('parses every key it made into its parts', () => {
  const part = fc
    .array(fc.constantFrom('%', ':', '2', '5', '3', 'A', 'é'), { minLength: 1, maxLength: 8 })
    .map((it) => it.join(''));
  fc.assert(
    fc.property(part, part, part, (tenant, user, session) => {
      expect(parseMemoryKey(memoryKey(tenant, user, session))).toEqual({ tenant, user, session });
    }),
  );
});

it('rejects keys it did not make', () => {
  for (const key of ['', 'a:b', 'a:b:c:d', 'a::c', 'a:%:c', 'a:%41:c']) expect(parseMemoryKey(key)).toBeNull();
  expect(() => memoryKey('', 'b', 'c')).toThrow(/tenant must be/);
});

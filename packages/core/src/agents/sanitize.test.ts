import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../contracts/common.ts';
import { STEERING_LIMITS, sanitizeSteering } from './sanitize.ts';

const HOSTILE = [
  '\0',
  '\u001b',
  '\u0085',
  '\u202e',
  '\u2066',
  '\u{E0041}',
  '\ud800',
  '\udb40',
  '\udc20',
  '😀',
  '\n',
  'a',
  '"',
  '…',
  '~2',
];
const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.array(fc.constantFrom(...HOSTILE), { maxLength: 90 }).map((parts) => parts.join('')),
  fc.integer({ min: 4_000, max: 9_000 }).map((length) => 'é'.repeat(length)),
);
const hostileKey = fc.oneof(
  hostileText,
  fc.constantFrom('__proto__', 'constructor', '__truncated__', '', '0', 'k'.repeat(70)),
);
const leaf = fc.oneof(
  hostileText,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
);
const objectOf = (member: fc.Arbitrary<JsonValue>, maxLength: number): fc.Arbitrary<JsonValue> =>
  fc.array(fc.tuple(hostileKey, member), { maxLength }).map((entries) => Object.fromEntries(entries));
const { payload } = fc.letrec<{ payload: JsonValue }>((tie) => ({
  payload: fc.oneof(
    { maxDepth: 9, depthSize: 'large' },
    leaf,
    fc.array(leaf, { maxLength: 60 }),
    objectOf(leaf, 80),
    fc.array(tie('payload'), { maxLength: 3 }),
    objectOf(tie('payload'), 3),
  ),
}));

/** Returns the paths that break a limit. One assertion per payload keeps the property test fast. */
function violations(value: JsonValue, path = '$', depth = 1): string[] {
  if (typeof value === 'string') return isCleanText(value, STEERING_LIMITS.text) ? [] : [path];
  if (typeof value !== 'object' || value === null) return [];
  const most = Array.isArray(value) ? STEERING_LIMITS.items : STEERING_LIMITS.keys;
  const broken = depth > STEERING_LIMITS.depth || Object.keys(value).length > most ? [path] : [];
  for (const [key, member] of Object.entries(value)) {
    if (!isCleanText(key, STEERING_LIMITS.key)) broken.push(`${path}.${key}`);
    broken.push(...violations(member, `${path}.${key}`, depth + 1));
  }
  return broken;
}

function isCleanText(text: string, most: number): boolean {
  const hostile = /(?![\t\n\r])[\p{Cc}\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/u;
  return Array.from(text).length <= most && text.isWellFormed() && !hostile.test(text);
}

const sized = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('sanitizeSteering (AGT-8)', () => {
  it('keeps every limit and changes nothing when repeated', () => {
    fc.assert(
      fc.property(payload, (value) => {
        const clean = sanitizeSteering(value);
        expect(violations(clean)).toEqual([]);
        expect(sized(clean)).toBeLessThanOrEqual(STEERING_LIMITS.bytes);
        // Compared as text, because a key named `constructor` breaks structural comparison, and because the order of
        // keys matters.
        expect(JSON.stringify(sanitizeSteering(clean))).toBe(JSON.stringify(clean));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves a payload within the limits unchanged', () => {
    const plain = {
      text: 'Stop.\n\tThen — 再開 😀',
      list: [1, true, null],
      __truncated__: false,
      '': { a: { b: { c: { d: 1 } } } },
    };
    expect(sanitizeSteering(plain)).toStrictEqual(plain);
    expect(sanitizeSteering(JSON.parse('{"__proto__":{"x":1}}'))).toStrictEqual(JSON.parse('{"__proto__":{"x":1}}'));
  });

  it('marks truncated texts, lists, objects and depth', () => {
    const clean = sanitizeSteering({
      text: 'x'.repeat(5_000),
      list: Array.from({ length: 60 }, (_, n) => n),
      wide: Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`k${n}`, n])),
      deep: [[[[[['gone']]]]]],
    });
    expect(clean.text).toHaveLength(4_096);
    expect(clean.text).toMatch(/x…\[truncated\]$/);
    expect((clean.list as unknown[]).slice(48)).toEqual([48, '…[truncated]']);
    expect(Object.keys(clean.wide as object)).toHaveLength(64);
    expect(clean.wide).toMatchObject({ k62: 62, __truncated__: true });
    expect(clean.deep).toEqual([[[[['…[truncated]']]]]]);
  });

  it('keeps both a real key and a disguised one', () => {
    expect(sanitizeSteering({ 'ro\u202ele': 'admin', role: 'user', 'role\0': 'root' })).toEqual({
      role: 'user',
      'role~2': 'admin',
      'role~3': 'root',
    });
    const long = 'k'.repeat(70);
    const clean = sanitizeSteering({ [`${long}a`]: 1, [`${long}b`]: 2 });
    expect(Object.values(clean)).toEqual([1, 2]);
  });

  it('keeps a disguised key apart from the mark of an object that was cut', () => {
    const wide = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`k${n}`, n]));
    for (const key of ['__truncated__', '__trun\u202acated__']) {
      const clean = sanitizeSteering({ object: { [key]: 'theirs', ...wide } }).object as Record<string, unknown>;
      expect(Object.keys(clean)).toHaveLength(64);
      expect(clean.__truncated__).toBe(true);
      expect(Object.values(clean).includes('theirs')).toBe(key !== '__truncated__');
    }
  });

  it('does not join lone surrogates into a hostile character', () => {
    expect(sanitizeSteering({ text: '\udb40\0\udc41' })).toEqual({ text: '\ufffd\ufffd' });
  });

  it('shrinks a payload that is too large, texts before structure', () => {
    const clean = sanitizeSteering({ id: 'keep me', parts: Array.from({ length: 40 }, () => '字'.repeat(2_000)) });
    expect(sized(clean)).toBeLessThanOrEqual(STEERING_LIMITS.bytes);
    expect(clean.id).toBe('keep me');
    expect(clean.parts).toHaveLength(25);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeCursor,
  encodeCursor,
  encodeJson,
  encodeJsonMembers,
  encodeJsonObject,
  MAX_JSON_DEPTH,
  parseJsonText,
  sameJson,
} from './json.ts';

const LIMIT = 1_000_000;

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe('encodeJson (GEN-4)', () => {
  it('keeps every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) =>
        sameJson(JSON.parse(encodeJson(value, 'it', LIMIT)), JSON.parse(JSON.stringify(value))),
      ),
    );
  });

  it('names the rejected value in the message', () => {
    const messageFor = (value: unknown) => {
      try {
        return encodeJson(value, 'it', LIMIT);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(messageFor({ a: Number.NaN })).toBe('it.a must be a finite number, not NaN');
    expect(messageFor({ a: 1n })).toBe('it.a must be a JSON value, not a bigint');
    expect(messageFor({ a: [undefined] })).toBe('it.a[0] must be a JSON value');
  });

  it('names the kind of a rejected value', () => {
    class Price {}
    const refused = (value: unknown, message: string) =>
      expect(() => encodeJsonObject(value, 'it', LIMIT)).toThrow(
        expect.objectContaining({ code: 'INVALID_PAYLOAD', message }),
      );
    refused(null, 'it must be a plain JSON object, not null');
    refused([], 'it must be a plain JSON object, not an array');
    refused(7, 'it must be a plain JSON object, not 7');
    refused('x', 'it must be a plain JSON object, not a string');
    refused({ a: new Price() }, 'it.a must be plain JSON, not a class instance, not a Price');
    refused(
      { a: Object.create(Object.create(Object.create(null))) },
      'it.a must be plain JSON, not a class instance, not a object',
    );
  });

  it('reserves one member name, of the object itself only', () => {
    for (const encode of [encodeJsonObject, encodeJsonMembers]) {
      expect(() => encode({ $tidemark: 1 }, 'it', LIMIT)).toThrow(
        expect.objectContaining({ code: 'INVALID_PAYLOAD', field: 'it.$tidemark' }),
      );
      expect(encode({ a: { $tidemark: 1 } }, 'it', LIMIT)).toBe('{"a":{"$tidemark":1}}');
    }
  });

  it('leaves out absent members, and keeps null', () => {
    expect(encodeJson({ a: undefined, b: null, c: [null] }, 'it', LIMIT)).toBe('{"b":null,"c":[null]}');
  });

  it('accepts exactly as many bytes as the limit', () => {
    for (const value of ['abcd', [1, 2, 3], 'äö', '€€', 12_345_678, [[]], []]) {
      const size = Buffer.byteLength(JSON.stringify(value));
      expect(encodeJson(value, 'it', size)).toBe(JSON.stringify(value));
      expect(() => encodeJson(value, 'it', size - 1)).toThrow(
        expect.objectContaining({
          code: 'PAYLOAD_TOO_LARGE',
          field: 'it',
          rule: `at most ${size - 1} bytes of JSON`,
          retryable: false,
        }),
      );
    }
  });

  class Money {}
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  it.each([
    ['NaN', { a: { b: [Number.NaN] } }, 'it.a.b[0]'],
    ['Infinity', { a: Number.POSITIVE_INFINITY }, 'it.a'],
    ['a bigint', { a: 1n }, 'it.a'],
    ['a function', { a: () => 1 }, 'it.a'],
    ['a symbol', { a: Symbol('x') }, 'it.a'],
    ['undefined in an array', { a: [1, undefined] }, 'it.a[1]'],
    ['a hole in an array', { a: new Array(1) }, 'it.a[0]'],
    ['a Date', { a: new Date() }, 'it.a'],
    ['a Map', { a: new Map() }, 'it.a'],
    ['a class instance', { a: new Money() }, 'it.a'],
    ['bytes', { a: new Uint8Array(1) }, 'it.a'],
    ['a cycle', cycle, 'it'],
    ['a value nested too deeply', nested(MAX_JSON_DEPTH + 1), 'it'],
  ])('rejects %s and names the path', (_, value, field) => {
    expect(() => encodeJson(value, 'it', LIMIT)).toThrow(expect.objectContaining({ code: 'INVALID_PAYLOAD', field }));
  });

  it('accepts 64 levels of nesting', () => {
    expect(encodeJson(nested(MAX_JSON_DEPTH), 'it', LIMIT)).toHaveLength(2 * MAX_JSON_DEPTH + 1);
  });

  it('counts bytes, not characters', () => {
    expect(encodeJson('é', 'it', 4)).toBe('"é"');
    expect(() => encodeJson('éé', 'it', 5)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', field: 'it' }),
    );
  });

  it('stops early for a value whose shared parts multiply exponentially', () => {
    let value: unknown = [];
    for (let level = 0; level < 60; level++) value = [value, value];
    expect(() => encodeJson(value, 'it', 10_000)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
  });

  it('rejects an array where an object is required', () => {
    expect(() => encodeJsonObject([], 'payload', LIMIT)).toThrow(
      expect.objectContaining({ code: 'INVALID_PAYLOAD', field: 'payload' }),
    );
  });
});

describe('encodeJsonMembers (GEN-4)', () => {
  it.each([{}, { a: 1 }, { a: 1, b: 'é' }, { a: 1, b: undefined, c: [2] }])('counts every byte of %j', (value) => {
    const text = JSON.stringify(value);
    const size = Buffer.byteLength(text);
    expect(encodeJsonMembers(value, 'it', size)).toBe(text);
    if (size > 2)
      expect(() => encodeJsonMembers(value, 'it', size - 1)).toThrow(
        expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', field: 'it' }),
      );
  });
});

describe('parseJsonText (GEN-4)', () => {
  it.each([
    '9007199254740993',
    '{"a":[-9007199254740993]}',
    '1e400',
    '{"a":-1e999}',
    '1E309',
    '1e+400',
    '[1.5e+309]',
    `${'9'.repeat(400)}.5`,
  ])('rejects %s, which parsing would change', (text) => {
    expect(() => parseJsonText(text, 'body')).toThrow(
      expect.objectContaining({ code: 'INVALID_PAYLOAD', field: 'body' }),
    );
  });

  it('rejects deep nesting before it parses', () => {
    expect(() => parseJsonText('['.repeat(1_000_000), 'body')).toThrow(
      expect.objectContaining({ code: 'INVALID_PAYLOAD' }),
    );
  });

  it('accepts as many levels as the limit', () => {
    const levels = (count: number) => '['.repeat(count) + ']'.repeat(count);
    for (const [maxDepth, bounds] of [
      [64, {}],
      [3, { maxDepth: 3 }],
    ] as const) {
      expect(parseJsonText(levels(maxDepth), 'body', bounds)).toBeTruthy();
      expect(() => parseJsonText(levels(maxDepth + 1), 'body', bounds)).toThrow(
        expect.objectContaining({
          code: 'INVALID_PAYLOAD',
          field: 'body',
          message: `body must be nested at most ${maxDepth} levels deep`,
        }),
      );
    }
  });

  it('counts every comma and bracket as a member, up to the limit', () => {
    const accepted = (text: string, maxMembers: number) => {
      expect(parseJsonText(text, 'body', { maxMembers })).toEqual(JSON.parse(text));
      expect(() => parseJsonText(text, 'body', { maxMembers: maxMembers - 1 })).toThrow(
        expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', rule: `at most ${maxMembers - 1} members` }),
      );
    };
    accepted('[1,2,3]', 3);
    accepted('[[],[[]]]', 5);
    accepted('[[]]', 2);
    accepted('{"a":{},"b":[1]}', 4);
  });

  it('finds the end of strings with escaped quotes and backslashes', () => {
    for (const value of ['\\', '"', '\\"', '\\\\', 'a\\"[[[', ''])
      expect(parseJsonText(JSON.stringify([value, 1]), 'body', { maxMembers: 2 })).toEqual([value, 1]);
    for (const text of ['"', '"\\"', '["a'])
      expect(() => parseJsonText(text, 'body')).toThrow(expect.objectContaining({ rule: 'JSON' }));
  });

  it('rejects text that only looks like a number as text that is not JSON', () => {
    for (const text of ['1e', '-', '1e5e5', '0.0.0e1', `${'1'.repeat(20)}-1`])
      expect(() => parseJsonText(text, 'body')).toThrow(
        expect.objectContaining({ code: 'INVALID_PAYLOAD', rule: 'JSON' }),
      );
  });

  it('names the kind of number that parsing would change', () => {
    const rule = 'free of integers beyond 2^53, which would be rounded: send them as text';
    for (const text of ['9007199254740992', '9'.repeat(308), '9'.repeat(309), '9'.repeat(400)])
      expect(() => parseJsonText(text, 'body')).toThrow(expect.objectContaining({ field: 'body', rule }));
    for (const text of ['1e309', `${'9'.repeat(307)}.5e9`, `${'9'.repeat(309)}.5`])
      expect(() => parseJsonText(text, 'body')).toThrow(
        expect.objectContaining({ field: 'body', rule: 'free of numbers beyond the double range' }),
      );
  });

  it('rejects too many members before it parses', () => {
    const bounds = { maxMembers: 10 };
    expect(parseJsonText('{"a":[1,2,3,4],"b":{"c":"[,,,,,,,,,,,,"}}', 'body', bounds)).toBeTruthy();
    expect(() => parseJsonText(`[${'1,'.repeat(1_000_000)}`, 'body', bounds)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', field: 'body', rule: 'at most 10 members' }),
    );
    expect(() => parseJsonText('[[],[],[],[],[],[]]', 'body', bounds)).toThrow(/more than 10 members/);
  });

  it('rejects an object with too many members, but not arrays of the same length', () => {
    const bounds = { maxNames: 3 };
    expect(parseJsonText('[[1,2,3,4,5],{"a":1,"b":2,"c":{"d":[1,2,3,4],"e":1}}]', 'body', bounds)).toBeTruthy();
    expect(() => parseJsonText('[1,2,3,4,{"a":1,"b":[1,2],"c":1,"d":1}]', 'body', bounds)).toThrow(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE', rule: 'at most 3 members in one object' }),
    );
    expect(() => parseJsonText(']]]],,,,', 'body', bounds)).toThrow(expect.objectContaining({ rule: 'JSON' }));
  });

  it.each(['0.12345678901234567890', '-1.50000000000000000000', '[1e-400]', '1e+16', '9007199254740991'])(
    'accepts %s, which parsing does not change beyond the precision of a double',
    (text) => {
      expect(parseJsonText(text, 'body')).toEqual(JSON.parse(text));
    },
  );

  it('rejects text that is not JSON', () => {
    expect(() => parseJsonText('{a:1}', 'body')).toThrow(/body is not JSON/);
  });

  it('parses everything JSON.stringify writes, except integers beyond 2^53', () => {
    const safe = (_: string, value: unknown) => (Number.isInteger(value) && !Number.isSafeInteger(value) ? 0 : value);
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        const value = JSON.parse(text, safe);
        expect(parseJsonText(JSON.stringify(value), 'body')).toEqual(value);
      }),
    );
  });

  it('ignores large numbers inside strings', () => {
    expect(parseJsonText('{"9007199254740993":"\\"9007199254740993"}', 'body')).toEqual({
      '9007199254740993': '"9007199254740993',
    });
  });
});

describe('sameJson', () => {
  it.each([
    [[], {}],
    [['x'], { 0: 'x' }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: undefined }, { b: undefined }],
    [null, {}],
    [{}, null],
    [0, false],
    ['1', 1],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }],
  ])('distinguishes %j from %j', (a, b) => {
    expect([sameJson(a, b), sameJson(b, a)]).toEqual([false, false]);
  });

  it('ignores the order of members', () => {
    expect(sameJson({ a: 1, b: [{ c: null, d: '' }] }, { b: [{ d: '', c: null }], a: 1 })).toBe(true);
  });
});

describe('decodeCursor', () => {
  const isPair = (values: unknown[]) => values.length === 2;

  it('returns the values that encodeCursor took', () => {
    expect(decodeCursor(encodeCursor(['a', 7]), isPair)).toEqual(['a', 7]);
    expect(decodeCursor(encodeCursor(['', null]), isPair)).toEqual(['', null]);
  });

  it.each([
    ['another number of values', encodeCursor(['a'])],
    ['an object', Buffer.from('{"length":2}').toString('base64url')],
    ['NUL', encodeCursor(['a\0', 7])],
    ['a lone surrogate', Buffer.from('["\\ud800",7]').toString('base64url')],
    ['text that is not JSON', 'x'],
    ['nothing', ''],
  ])('refuses %s', (_, cursor) => {
    expect(() => decodeCursor(cursor, isPair)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        field: 'cursor',
        message: expect.stringContaining(JSON.stringify(cursor)),
      }),
    );
  });
});

/** Ids, words and other short texts are accepted exactly up to their limits; errors name the field, rule and value. */
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { checkKeyRange } from './key-range.ts';
import { checkLabels } from './labels.ts';
import {
  checkId,
  checkObject,
  checkOneOf,
  checkOptionalBoolean,
  checkOptionalId,
  checkPrefix,
  checkText,
  isPlainObject,
} from './text.ts';

const refused = (message: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'it', message });
const ID_RULE = 'it must be well-formed Unicode text of 1 to 512 UTF-8 bytes without NUL';

describe('checkText', () => {
  it('accepts well-formed text up to its limit in bytes', () => {
    expect(checkText('äöü', 'name', 6)).toBe('äöü');
    for (const value of ['äöüx', 'a\0', '\ud800', 7, undefined])
      expect(() => checkText(value, 'name', 6)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'name' }),
      );
    expect(() => checkText(undefined, 'it', 6)).toThrow(
      refused('it must be well-formed Unicode text of at most 6 UTF-8 bytes without NUL, not null'),
    );
  });
});

describe('checkId', () => {
  // One, two and three bytes for each character.
  it.each(['a'.repeat(512), 'ä'.repeat(256), `${'€'.repeat(170)}ab`, 'x'])('accepts %j', (text) => {
    expect([checkId(text, 'it'), checkPrefix(text, 'it'), checkOptionalId(text, 'it')]).toEqual([text, text, text]);
  });

  it.each([`a${'a'.repeat(512)}`, `ä${'ä'.repeat(256)}`, '€'.repeat(171), 'a\0', 'a\ud800', 7, ['a']])(
    'refuses %j',
    (value) => {
      for (const check of [checkId, checkPrefix, checkOptionalId])
        expect(() => check(value, 'it')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'it' }));
    },
  );

  it('accepts an empty text only as a prefix', () => {
    expect(checkPrefix('', 'it')).toBe('');
    expect(() => checkId('', 'it')).toThrow(refused(`${ID_RULE}, not ""`));
    expect(() => checkOptionalId('', 'it')).toThrow(refused(`${ID_RULE}, not ""`));
  });

  it('accepts absent values only where they are optional', () => {
    expect([checkOptionalId(undefined, 'it'), checkOptionalId(null, 'it')]).toEqual([null, null]);
    for (const value of [undefined, null]) {
      expect(() => checkId(value, 'it')).toThrow(refused(`${ID_RULE}, not null`));
      expect(() => checkPrefix(value, 'it')).toThrow(
        refused('it must be well-formed Unicode text of at most 512 UTF-8 bytes without NUL, not null'),
      );
    }
  });
});

describe('checkOneOf', () => {
  it('accepts the allowed words and lists them otherwise', () => {
    expect(checkOneOf('b', 'it', ['a', 'b'])).toBe('b');
    for (const [value, shown] of [
      ['c', '"c"'],
      ['', '""'],
      [undefined, 'null'],
      [['a'], 'a value of type array'],
    ])
      expect(() => checkOneOf(value, 'it', ['a', 'b'])).toThrow(refused(`it must be one of a, b, not ${shown}`));
    expect(() => checkOneOf(1, 'it', [1] as never)).toThrow(refused('it must be one of 1, not 1'));
  });
});

describe('checkOptionalBoolean', () => {
  it('takes absent for false and nothing else', () => {
    expect([undefined, true, false].map((value) => checkOptionalBoolean(value, 'it'))).toEqual([false, true, false]);
    for (const [value, shown] of [
      [null, 'null'],
      [0, '0'],
      ['true', '"true"'],
    ])
      expect(() => checkOptionalBoolean(value, 'it')).toThrow(refused(`it must be true or false, not ${shown}`));
  });
});

describe('checkObject', () => {
  class Money {}
  const elsewhere = runInContext('({ a: 1 })', createContext());

  it.each([[{}], [{ a: 1 }], [Object.create(null)], [elsewhere]])('accepts plain objects', (value) => {
    expect(checkObject(value, 'it')).toBe(value);
    expect(isPlainObject(value)).toBe(true);
  });

  it.each([[null], [undefined], [[]], [new Money()], [new Date()], [() => 1], ['x'], [7]])(
    'refuses others',
    (value) => {
      expect(isPlainObject(value)).toBe(false);
      expect(() => checkObject(value, 'it')).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'it', rule: 'a plain object' }),
      );
    },
  );

  it('shows that the object is missing', () => {
    expect(() => checkObject(undefined, 'it')).toThrow(refused('it must be a plain object, not null'));
  });
});

describe('checkKeyRange', () => {
  it('keeps the bounds that are set', () => {
    expect(checkKeyRange({})).toEqual({});
    expect(checkKeyRange({ from: 'a' })).toEqual({ from: 'a' });
    expect(checkKeyRange({ to: 'b' })).toEqual({ to: 'b' });
    expect(Object.keys(checkKeyRange({ from: undefined, to: undefined } as never))).toEqual([]);
  });

  it.each(['from', 'to'])('refuses an empty %s', (field) => {
    expect(() => checkKeyRange({ [field]: '' })).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field }));
  });
});

describe('checkLabels', () => {
  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 'v']));

  it('accepts up to 32', () => {
    expect(checkLabels(labels(32), 'it')).toEqual(labels(32));
    expect(() => checkLabels(labels(33), 'it')).toThrow(refused('it must be at most 32 labels'));
  });

  it('names the label that is wrong', () => {
    expect(() => checkLabels({ a: 'v', b: '' }, 'it')).toThrow(expect.objectContaining({ field: 'it.b' }));
    expect(() => checkLabels({ '': 'v' }, 'it')).toThrow(expect.objectContaining({ field: 'it (name)' }));
  });
});

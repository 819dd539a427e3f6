/** Numbers, times and durations are accepted exactly up to their limits; errors name the field, the rule and the value. */
import { describe, expect, it } from 'vitest';
import {
  checkByteRange,
  checkDuration,
  checkFinite,
  checkInteger,
  checkLimit,
  checkOptionalDuration,
  checkTime,
  timeText,
} from './numbers.ts';

const refused = (message: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'it', message });

describe('checkInteger', () => {
  it('accepts integers from the lower to the upper bound', () => {
    expect([2, 3, 5].map((value) => checkInteger(value, 'it', 2, 5))).toEqual([2, 3, 5]);
    expect(checkInteger(Number.MAX_SAFE_INTEGER, 'it', 0)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each([
    [1, '1'],
    [6, '6'],
    [2.5, '2.5'],
    ['3', '"3"'],
    [Number.NaN, 'NaN'],
    [undefined, 'null'],
    [[3], 'a value of type array'],
  ])('refuses %j and shows it', (value, shown) => {
    expect(() => checkInteger(value, 'it', 2, 5)).toThrow(refused(`it must be an integer from 2 to 5, not ${shown}`));
  });

  it('does not mention an upper bound where there is none', () => {
    expect(() => checkInteger(0, 'it', 1)).toThrow(refused('it must be an integer of at least 1, not 0'));
    expect(() => checkInteger(2 ** 53, 'it', 1)).toThrow(
      refused(`it must be an integer of at least 1, not ${2 ** 53}`),
    );
  });
});

describe('checkByteRange', () => {
  it('takes absent bounds for the whole', () => {
    const whole = { start: 0, end: Number.MAX_SAFE_INTEGER };
    expect([checkByteRange(undefined), checkByteRange({})]).toEqual([whole, whole]);
    expect(checkByteRange({ start: 4 })).toEqual({ ...whole, start: 4 });
    expect(checkByteRange({ end: 4 })).toEqual({ ...whole, end: 4 });
    expect(checkByteRange({ start: 4, end: 4 })).toEqual({ start: 4, end: 4 });
  });

  it('rejects an end before the start', () => {
    expect(() => checkByteRange({ start: 4, end: 3 })).toThrow(expect.objectContaining({ field: 'end' }));
    expect(() => checkByteRange({ start: -1 })).toThrow(expect.objectContaining({ field: 'start' }));
    expect(() => checkByteRange({ start: null as never })).toThrow(expect.objectContaining({ field: 'start' }));
  });
});

describe('checkLimit', () => {
  it('accepts 1 up to the largest and falls back when absent', () => {
    expect([undefined, 1, 9].map((value) => checkLimit(value, 4, 9))).toEqual([4, 1, 9]);
    for (const value of [0, 10, null, '4'])
      expect(() => checkLimit(value, 4, 9)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'limit' }),
      );
  });
});

describe('checkFinite', () => {
  it('accepts finite numbers only', () => {
    expect([0, -1.5, 1e300].map((value) => checkFinite(value, 'it'))).toEqual([0, -1.5, 1e300]);
    for (const [value, shown] of [
      [Number.POSITIVE_INFINITY, 'Infinity'],
      [Number.NaN, 'NaN'],
      ['1', '"1"'],
      [undefined, 'null'],
    ])
      expect(() => checkFinite(value, 'it')).toThrow(refused(`it must be a finite number, not ${shown}`));
  });
});

describe('checkTime', () => {
  const at = (date: string, time = '00:00:00') => `${date}T${time}Z`;

  it.each([
    ...['01', '03', '05', '07', '08', '10', '12'].map((month) => at(`2026-${month}-31`)),
    ...['04', '06', '09', '11'].map((month) => at(`2026-${month}-30`)),
    ...['2024-02-29', '2000-02-29', '2026-02-28', '2026-01-01', '2026-12-01'].map((date) => at(date)),
    at('2026-01-01', '23:59:59'),
    '2026-01-01t00:00:00.123456789z',
    '2026-01-01T00:00:00+00:00',
    '2026-01-01T00:00:00-00:00',
  ])('accepts %s', (text) => {
    expect(checkTime(text, 'it')).toBe(text);
  });

  it.each([
    ...['01', '03', '05', '07', '08', '10', '12'].map((month) => at(`2026-${month}-32`)),
    ...['04', '06', '09', '11'].map((month) => at(`2026-${month}-31`)),
    ...['2026-02-29', '1900-02-29', '2024-02-30', '2000-02-30', '2026-00-10', '2026-13-10', '2026-01-00'].map((date) =>
      at(date),
    ),
    ...['24:00:00', '00:60:00', '00:00:60'].map((time) => at('2026-01-01', time)),
    '2026-01-01T00:00:00+01:00',
    '2026-01-01T00:00:00',
    'x',
    '',
  ])('refuses %s', (text) => {
    expect(() => checkTime(text, 'it')).toThrow(
      refused(`it must be an RFC 3339 time in UTC, such as 2026-02-16T09:30:00.000Z, not "${text}"`),
    );
  });

  it('rejects values that are not strings, even if they could be read as a time', () => {
    for (const value of [undefined, null, 0, new Date(), [at('2026-01-01')]])
      expect(() => checkTime(value, 'it')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'it' }));
  });
});

describe('checkDuration', () => {
  const century = 100 * 365 * 86_400_000;

  it('reads milliseconds and texts with a unit', () => {
    expect([1, '1ms', '90s', '2m', '1h', '3d'].map((value) => checkDuration(value, 'it'))).toEqual([
      1, 1, 90_000, 120_000, 3_600_000, 259_200_000,
    ]);
  });

  it('accepts up to 100 years', () => {
    expect([century, '36500d'].map((value) => checkDuration(value, 'it'))).toEqual([century, century]);
  });

  it.each([0, -1, 1.5, century + 1, '36501d', '0s', '1 h', '1w', 'h', '', null, undefined, Number.NaN, ['1h']])(
    'refuses %j',
    (value) => {
      expect(() => checkDuration(value, 'it')).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          field: 'it',
          rule: "whole milliseconds from 1 to 100 years, or a string such as '90s' or '1h'",
        }),
      );
    },
  );

  it('falls back only when absent', () => {
    expect(checkOptionalDuration(undefined, 'it', 5)).toBe(5);
    expect(checkOptionalDuration('1s', 'it', 5)).toBe(1_000);
    expect(() => checkOptionalDuration(null as never, 'it', 5)).toThrow(expect.objectContaining({ field: 'it' }));
  });
});

describe('timeText', () => {
  it('formats each time, even when calls alternate', () => {
    const texts = [0, 1, 1, 0, 86_400_000].map(timeText);
    const day = '1970-01-01T00:00:00.00';
    expect(texts).toEqual([`${day}0Z`, `${day}1Z`, `${day}1Z`, `${day}0Z`, '1970-01-02T00:00:00.000Z']);
  });
});

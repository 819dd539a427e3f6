/** Checks of numbers, times and durations (GEN-2, RUN-12, KV-2). All throw `INVALID_ARGUMENT` naming the field. */
import type { Duration } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';

/** Returns the value if it is a safe integer within the bounds, else throws `INVALID_ARGUMENT`. */
export function checkInteger(value: unknown, field: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  const rule = max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`;
  throw invalidArgument(field, rule, value ?? null);
}

/** A range of bytes: from `start`, inclusive, to `end`, exclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Returns the requested range of bytes, by default all. Throws `INVALID_ARGUMENT` if `end` is before `start`. */
export function checkByteRange(range: { start?: number; end?: number } | undefined): ByteRange {
  const start = range?.start === undefined ? 0 : checkInteger(range.start, 'start', 0);
  const end = range?.end === undefined ? Number.MAX_SAFE_INTEGER : checkInteger(range.end, 'end', start);
  return { start, end };
}

/** Returns the limit of a list: an integer from 1 to `max`, or `fallback` when absent. */
export function checkLimit(value: unknown, fallback: number, max: number): number {
  return value === undefined ? fallback : checkInteger(value, 'limit', 1, max);
}

/** Returns the value if it is a finite number, else throws `INVALID_ARGUMENT`. */
export function checkFinite(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw invalidArgument(field, 'a finite number', value ?? null);
}

const UTC_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]00:00)$/;

/** Returns the text unchanged if it is an RFC 3339 time in UTC, else throws `INVALID_ARGUMENT`. */
export function checkTime(value: unknown, field: string): string {
  if (typeof value === 'string' && isUtcTime(value)) return value;
  throw invalidArgument(field, 'an RFC 3339 time in UTC, such as 2026-02-16T09:30:00.000Z', value ?? null);
}

function isUtcTime(text: string): boolean {
  if (!UTC_TIME.test(text)) return false;
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (month < 1 || month > 12 || twoDigits(text, 11) > 23) return false;
  if (twoDigits(text, 14) > 59 || twoDigits(text, 17) > 59) return false;
  // Every month has at least 28 days.
  return day >= 1 && (day <= 28 || day <= daysOfMonth(Number(text.slice(0, 4)), month));
}

/** Returns the number of two digits. Capturing groups would cost more than the rest of the check. */
function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30;
}

function daysOfMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DURATION_MS = 100 * 365 * UNITS.d!;

/** Returns a duration in whole milliseconds, from 1 ms to 100 years. Throws `INVALID_ARGUMENT` for anything else. */
export function checkDuration(value: unknown, field: string): number {
  const ms = typeof value === 'string' ? parseDuration(value) : value;
  if (Number.isSafeInteger(ms) && (ms as number) >= 1 && (ms as number) <= MAX_DURATION_MS) return ms as number;
  throw invalidArgument(
    field,
    "whole milliseconds from 1 to 100 years, or a string such as '90s' or '1h'",
    value ?? null,
  );
}

function parseDuration(text: string): number | undefined {
  const parts = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  return parts ? Number(parts[1]) * UNITS[parts[2]!]! : undefined;
}

/** Like `checkDuration`, but returns `fallback` when the option is absent. */
export function checkOptionalDuration(value: Duration | undefined, field: string, fallback: number): number {
  return value === undefined ? fallback : checkDuration(value, field);
}

let lastTime = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/** Formats milliseconds as RFC 3339 text in UTC. Caches the last result: events of one commit have the same time. */
export function timeText(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() };
  return lastTime.text;
}

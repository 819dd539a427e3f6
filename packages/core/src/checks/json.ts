/**
 * Checks and encodes all JSON that callers pass (GEN-4). Every engine returns an accepted value deep-equal. A value
 * that encoding would change is rejected before anything is written.
 */
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import { byteLength } from './bytes.ts';
import { isPlainObject } from './text.ts';

export const MAX_JSON_DEPTH = 64;

/** The member that marks a stored payload as encoded by a codec. Payloads of callers must not have it. */
export const RESERVED_MEMBER = '$tidemark';

/** Returns the JSON text of a value. Throws `INVALID_PAYLOAD` or `PAYLOAD_TOO_LARGE` with the path of the problem. */
export function encodeJson(value: unknown, field: string, maxBytes: number): string {
  const walk: Walk = { left: maxBytes, field, maxBytes };
  checkJson(value, { key: field, of: null }, 1, walk);
  const text = JSON.stringify(value);
  if (text.length > maxBytes || (text.length * 3 > maxBytes && byteLength(text) > maxBytes)) {
    throw tooLarge(field, maxBytes);
  }
  return text;
}

/** Like `encodeJson`, for a value that must be a JSON object without the reserved member. */
export function encodeJsonObject(value: unknown, field: string, maxBytes: number): string {
  return encodeJson(checkUnreserved(checkJsonObject(value, field), field), field, maxBytes);
}

/** Throws `INVALID_PAYLOAD` unless the value is a plain object. Does not check its members. */
export function checkJsonObject(value: unknown, field: string): Record<string, unknown> {
  if (isPlainObject(value)) return value;
  throw invalidPayload(field, 'a plain JSON object', value);
}

function checkUnreserved(value: Record<string, unknown>, field: string): Record<string, unknown> {
  if (!Object.hasOwn(value, RESERVED_MEMBER)) return value;
  throw invalidPayload(`${field}.${RESERVED_MEMBER}`, 'absent: the name is reserved for encoded payloads');
}

/**
 * Like `encodeJsonObject`, for an object created by this library whose members are the caller's values. Errors name the
 * member, and each member may have the full nesting depth.
 */
export function encodeJsonMembers(value: unknown, field: string, maxBytes: number): string {
  const members: string[] = [];
  let bytes = '{}'.length;
  for (const [key, part] of Object.entries(checkUnreserved(checkJsonObject(value, field), field))) {
    if (part === undefined) continue;
    const member = `${JSON.stringify(key)}:${encodeJson(part, key, maxBytes)}`;
    bytes += byteLength(member) + (members.length > 0 ? 1 : 0);
    if (bytes > maxBytes) throw tooLarge(field, maxBytes);
    members.push(member);
  }
  return `{${members.join()}}`;
}

interface Walk {
  /** How many more values can fit. Each needs at least one byte, so the traversal of a huge value stops early. */
  left: number;
  field: string;
  maxBytes: number;
}

/**
 * Checks a value and everything in it. The path is a list of keys from the inside out, which is joined only for an error:
 * joining it for every member took longer than the check.
 */
function checkJson(value: unknown, path: Path, depth: number, walk: Walk): void {
  if (--walk.left < 0) throw tooLarge(walk.field, walk.maxBytes);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isFinite(value)) return;
      throw invalidPayload(textOf(path), 'a finite number', value);
    case 'object':
      if (value === null) return;
      if (depth > MAX_JSON_DEPTH) {
        throw invalidPayload(walk.field, `nested at most ${MAX_JSON_DEPTH} levels deep and free of cycles`);
      }
      if (Array.isArray(value)) {
        const item: Path = { key: 0, of: path };
        for (let index = 0; index < value.length; index++) {
          item.key = index;
          checkJson(value[index], item, depth + 1, walk);
        }
        return;
      }
      if (!isPlainObject(value)) throw invalidPayload(textOf(path), 'plain JSON, not a class instance', value);
      checkMembers(value, path, depth, walk);
      return;
    default:
      throw invalidPayload(textOf(path), 'a JSON value', value);
  }
}

function checkMembers(value: Record<string, unknown>, path: Path, depth: number, walk: Walk): void {
  const place: Path = { key: '', of: path };
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    place.key = key;
    checkJson(member, place, depth + 1, walk);
  }
}

/** Where a value is: its key, an index for items of arrays, and where the value around it is. */
interface Path {
  key: string | number;
  of: Path | null;
}

function textOf({ key, of }: Path): string {
  if (of === null) return String(key);
  return typeof key === 'number' ? `${textOf(of)}[${key}]` : `${textOf(of)}.${key}`;
}

export function tooLarge(field: string, maxBytes: number): TidemarkError {
  return new TidemarkError(
    'PAYLOAD_TOO_LARGE',
    `${field} is larger than ${maxBytes} bytes of JSON; store it as an artifact and keep the reference`,
    { field, rule: `at most ${maxBytes} bytes of JSON` },
  );
}

function invalidPayload(field: string, rule: string, received?: unknown): TidemarkError {
  const seen = received === undefined ? '' : `, not ${nameOf(received)}`;
  return new TidemarkError('INVALID_PAYLOAD', `${field} must be ${rule}${seen}`, { field, rule });
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'object'}`;
  return `a ${typeof value}`;
}

/** Limits for JSON text from outside, checked before it is parsed. */
export interface JsonBounds {
  /** Levels of nesting; default 64. A transport sets a higher limit, because its messages wrap the values. */
  maxDepth?: number;
  /** Members of all objects and items of all arrays together; default: no limit. */
  maxMembers?: number;
  /** Members of one object; default: no limit. Building a large object takes far longer than building a large array. */
  maxNames?: number;
}

/**
 * Parses JSON text that came from outside. Rejects numbers that JavaScript would silently change (integers beyond 2^53,
 * numbers beyond the double range), nesting that is too deep, and too many members, all before building any object.
 *
 * @param field the name of the value in error messages
 * @throws `INVALID_PAYLOAD` for text that is not JSON, unsafe numbers and too deep nesting; `PAYLOAD_TOO_LARGE` for
 * more members than `bounds` allows.
 */
export function parseJsonText(text: string, field: string, bounds: JsonBounds = {}): unknown {
  const { maxDepth = MAX_JSON_DEPTH, maxMembers = Number.POSITIVE_INFINITY, maxNames = UNLIMITED } = bounds;
  let depth = 0;
  let members = 0;
  memberCounts[0] = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x22) {
      at = endOfString(text, at);
    } else if (char === 0x2c) {
      if (++members > maxMembers) throw tooManyMembers(field, maxMembers);
      if (++memberCounts[depth]! >= maxNames) throw tooManyMembers(field, maxNames, ' in one object');
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > maxDepth) throw invalidPayload(field, `nested at most ${maxDepth} levels deep`);
      memberCounts[depth] = char === 0x7b ? 0 : -UNLIMITED;
      if (++members > maxMembers) throw tooManyMembers(field, maxMembers);
    } else if (char === 0x7d || char === 0x5d) {
      depth--;
    } else if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      at = checkNumber(text, at, field) - 1;
    }
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TidemarkError('INVALID_PAYLOAD', `${field} is not JSON: ${(cause as Error).message}`, {
      field,
      rule: 'JSON',
      cause,
    });
  }
}

const UNLIMITED = 2 ** 30;
/** Member counts of the open object at each depth. The count of an array starts far below any limit. */
const memberCounts = /* @__PURE__ */ new Int32Array(256);

/** Integers with fewer characters are below 2^53. */
const MIN_UNSAFE_LENGTH = 16;
/** Numbers without an exponent and with fewer characters are below the largest double. */
const MIN_INFINITE_LENGTH = 309;

/** Throws for a number that parsing would change. Returns the index after its last character. */
function checkNumber(text: string, start: number, field: string): number {
  let isInteger = true;
  let hasExponent = false;
  let end = start + 1;
  for (; end < text.length; end++) {
    const char = text.charCodeAt(end);
    if (char >= 0x30 && char <= 0x39) continue;
    if (char === 0x65 || char === 0x45) hasExponent = true;
    else if (char !== 0x2e && char !== 0x2b && char !== 0x2d) break;
    isInteger = false;
  }
  const length = end - start;
  if (hasExponent || length >= MIN_INFINITE_LENGTH || (isInteger && length >= MIN_UNSAFE_LENGTH))
    checkNumberText(text.slice(start, end), isInteger, field);
  return end;
}

function tooManyMembers(field: string, maxMembers: number, where = ''): TidemarkError {
  const message = `${field} has more than ${maxMembers} members${where}; send less at once`;
  return new TidemarkError('PAYLOAD_TOO_LARGE', message, { field, rule: `at most ${maxMembers} members${where}` });
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

/** Whether an odd number of backslashes precedes an index. */
function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === 0x5c) first--;
  return (index - first) % 2 === 1;
}

function checkNumberText(text: string, isInteger: boolean, field: string): void {
  const value = Number(text);
  // The parser rejects text that is not a number.
  if (Number.isNaN(value)) return;
  if (isInteger && !Number.isSafeInteger(value))
    throw invalidPayload(field, 'free of integers beyond 2^53, which would be rounded: send them as text', value);
  if (!Number.isFinite(value)) throw invalidPayload(field, 'free of numbers beyond the double range', value);
}

/** Parses JSON text that a store wrote itself. */
export function decodeJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** Whether two JSON values are equal, regardless of the order of their keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameJson((a as never)[key], (b as never)[key]));
}

/** Returns the values in a cursor. Throws `INVALID_ARGUMENT` for a cursor that this list did not return. */
export function decodeCursor<T extends unknown[]>(cursor: string, check: (values: unknown[]) => boolean): T {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(values) && values.every(isStorable) && check(values)) return values as T;
  } catch {
    // Falls through to the error below.
  }
  throw invalidArgument('cursor', 'one that this list gave as `next`', cursor);
}

/** Rejects NUL and lone surrogates: engines do not accept them, and no id has them. */
function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'));
}

export function encodeCursor(values: unknown[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

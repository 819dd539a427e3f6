/** Checks of ids, names and other short texts (GEN-5): well-formed Unicode, 1 to 512 UTF-8 bytes, no NUL. */
import { invalidArgument } from '../contracts/errors.ts';
import { byteLength } from './bytes.ts';

const MAX_ID_BYTES = 512;
const ID_RULE = 'well-formed Unicode text of 1 to 512 UTF-8 bytes without NUL';

/** Returns the value if it is an id, else throws `INVALID_ARGUMENT` naming the field. */
export function checkId(value: unknown, field: string): string {
  if (typeof value === 'string' && value !== '' && isIdText(value)) return value;
  throw invalidArgument(field, ID_RULE, value ?? null);
}

/** Like `checkId`, but returns `null` when the field is absent or `null`. */
export function checkOptionalId(value: unknown, field: string): string | null {
  return value === undefined || value === null ? null : checkId(value, field);
}

/** Returns the value if it is a prefix of ids, which may be empty, else throws `INVALID_ARGUMENT`. */
export function checkPrefix(value: unknown, field: string): string {
  if (typeof value === 'string' && isIdText(value)) return value;
  throw invalidArgument(field, 'well-formed Unicode text of at most 512 UTF-8 bytes without NUL', value ?? null);
}

function isIdText(value: string): boolean {
  if (value.includes('\0') || !value.isWellFormed()) return false;
  // A code unit has at most three bytes, so short texts need no count.
  return value.length * 3 <= MAX_ID_BYTES || byteLength(value) <= MAX_ID_BYTES;
}

/** Returns the value if it is one of the allowed words, else throws `INVALID_ARGUMENT`. */
export function checkOneOf<T extends string>(value: unknown, field: string, allowed: readonly T[]): T {
  if (typeof value === 'string' && (allowed as readonly string[]).includes(value)) return value as T;
  throw invalidArgument(field, `one of ${allowed.join(', ')}`, value ?? null);
}

/** Returns the value if it is well-formed text of at most `maxBytes` UTF-8 bytes, else throws `INVALID_ARGUMENT`. */
export function checkText(value: unknown, field: string, maxBytes: number): string {
  if (typeof value === 'string' && value.isWellFormed() && !value.includes('\0')) {
    if (byteLength(value) <= maxBytes) return value;
  }
  throw invalidArgument(
    field,
    `well-formed Unicode text of at most ${maxBytes} UTF-8 bytes without NUL`,
    value ?? null,
  );
}

/** Returns the boolean, false when absent. Throws `INVALID_ARGUMENT` for anything else. */
export function checkOptionalBoolean(value: unknown, field: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw invalidArgument(field, 'true or false', value);
}

/** Returns the value if it is a plain object and not a class instance, else throws `INVALID_ARGUMENT`. */
export function checkObject(value: unknown, field: string): Record<string, unknown> {
  if (isPlainObject(value)) return value;
  throw invalidArgument(field, 'a plain object', value ?? null);
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  // Objects of another realm have their own Object.prototype, whose prototype is null too.
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

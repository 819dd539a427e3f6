/** Numbers of lives: checks of arguments, and their form in results (RUN-18). */
import { invalidArgument } from '../contracts/errors.ts';
import { checkInteger } from './numbers.ts';

/** More lives than any run can have. */
const MAX_LIFE = 2 ** 31 - 1;

/** Throws `INVALID_ARGUMENT` unless the value is the number of a life. */
export function checkLife(value: unknown): number {
  return checkInteger(value, 'life', 1, MAX_LIFE);
}

export function checkOptionalLife(value: unknown): number | undefined {
  return value === undefined ? undefined : checkLife(value);
}

/** Throws `INVALID_ARGUMENT` unless the value is the number of a life or `new`. */
export function checkAppendLife(value: unknown): number | 'new' {
  if (value === 'new') return value;
  if (typeof value === 'string') throw invalidArgument('life', "the number of a life, or 'new'", value);
  return checkLife(value);
}

/** Returns `life` as a member of results, which is absent in the first life. */
export function laterLife(life: number): { life?: number } {
  return life === 1 ? {} : { life };
}

/**
 * Whether data of the life `life` (`undefined` for the first) matches the life that a caller wants. Any life matches if
 * `wanted` is absent.
 */
export function isOfLife(life: number | undefined, wanted: number | undefined): boolean {
  return wanted === undefined || (life ?? 1) === wanted;
}

/** The few assertions cases need; each failure says in words what was promised. */
import { AssertionError, deepStrictEqual } from 'node:assert';
import type { ErrorCode, TidemarkError } from '@tidemark/core';
import { isTidemarkError } from '@tidemark/core';

/** Fails with the promise that was broken. */
export function expect(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new AssertionError({ message: promise });
}

/** Deep equality by value; failures show both sides under the promise. */
export function expectEqual<T>(actual: T, expected: T, promise: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    throw new AssertionError({ message: `${promise}\n${(error as Error).message}` });
  }
}

/** The call must fail with this code; gives the error for further looks. */
export async function expectCode(
  code: ErrorCode,
  promise: string,
  call: () => Promise<unknown>,
): Promise<TidemarkError> {
  let result: unknown;
  try {
    result = await call();
  } catch (error) {
    if (isTidemarkError(error, code)) return error;
    throw new AssertionError({ message: `${promise}: expected ${code}, got ${String(error)}` });
  }
  throw new AssertionError({
    message: `${promise}: expected ${code}, but the call succeeded with ${JSON.stringify(result)}`,
  });
}

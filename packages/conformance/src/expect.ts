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

/** The call must fail with this code, or one of these; returns the error for further checks. */
export async function expectCode(
  codes: ErrorCode | readonly ErrorCode[],
  promise: string,
  call: () => Promise<unknown>,
): Promise<TidemarkError> {
  const wanted = [codes].flat();
  let result: unknown;
  try {
    result = await call();
  } catch (error) {
    if (isTidemarkError(error, ...wanted)) return error;
    throw new AssertionError({ message: `${promise}: expected ${wanted.join(' or ')}, got ${String(error)}` });
  }
  throw new AssertionError({
    message: `${promise}: expected ${wanted.join(' or ')}, but the call succeeded with ${JSON.stringify(result)}`,
  });
}

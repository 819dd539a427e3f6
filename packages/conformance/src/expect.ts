/** The assertions that cases use. Each failure message states the broken promise. */
import { AssertionError, deepStrictEqual } from 'node:assert';
import type { ErrorCode, Store, TidemarkError } from '@tidemark/core';
import { isTidemarkError } from '@tidemark/core';

/** Throws an error with the broken promise unless the condition holds. */
export function expect(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new AssertionError({ message: promise });
}

/** Compares by deep equality. The error shows the promise and both values. */
export function expectEqual<T>(actual: T, expected: T, promise: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    throw new AssertionError({ message: `${promise}\n${(error as Error).message}` });
  }
}

/** Expects a revision that the record did not have before: a higher one, where revisions are ordered. */
export function expectNewRevision({ info }: Store, revision: number | null, before: number, promise: string): void {
  const isOrdered = info.capabilities['kv.orderedRevisions'];
  expect(isOrdered ? revision! > before : revision !== null && revision !== before, promise);
}

/** Expects the call to fail with one of the codes, and returns the error for further checks. */
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

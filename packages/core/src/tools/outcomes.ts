/**
 * The outcome of a write whose parts are executed separately, such as a batch over several runs. Each part is written
 * or refused as a whole. An error may say that nothing was written only when that is true of all parts (GEN-8).
 */

import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { StoreWrite } from '../contracts/writes.ts';

/**
 * Returns the error to throw for a write with refused parts. `isPartlyWritten` means that another part was written;
 * parts that were already stored do not count.
 */
export function refusalOf(refusals: readonly unknown[], isPartlyWritten: boolean, write?: StoreWrite): unknown {
  const known = refusals.find((it) => !isUnknown(it));
  if (known === undefined) return refusals[0];
  if (!isPartlyWritten && !refusals.some(isUnknown)) return known;
  const { message, runId } = known as TidemarkError;
  return new TidemarkError(
    'OUTCOME_UNKNOWN',
    `Some parts of the write may be stored, and one was rejected: ${message}. Retry the same write to find out its outcome`,
    { cause: known, runId, write },
  );
}

/**
 * Executes parts of a write concurrently and returns the outcome of each. A write nearly always has one part, which
 * needs one promise instead of four.
 */
export function outcomesOf<Part, Outcome>(
  parts: readonly Part[],
  carryOut: (part: Part) => Promise<Outcome>,
): Promise<(Outcome | Error)[]> {
  if (parts.length > 1) return Promise.all(parts.map((part) => carryOut(part).catch((error: Error) => error)));
  if (parts.length === 0) return Promise.resolve([]);
  return carryOut(parts[0]!).then(
    (outcome) => [outcome],
    (error: Error) => [error],
  );
}

/** Throws unless all parts of a write succeeded. */
export function requireAll(parts: readonly PromiseSettledResult<unknown>[]): void {
  const refusals = parts.filter((part) => part.status === 'rejected').map(({ reason }) => reason);
  if (refusals.length > 0) throw refusalOf(refusals, refusals.length < parts.length);
}

function isUnknown(error: unknown): boolean {
  return !isTidemarkError(error) || error.outcome === 'unknown';
}

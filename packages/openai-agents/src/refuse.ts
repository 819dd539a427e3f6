/** The adapter's errors. */
import { TidemarkError } from '@tidemark/core';

/** Returns an `INVALID_ARGUMENT` error with the argument and the rule. */
export function refuse(field: string, rule: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${field} ${rule}`, { field, rule });
}

/** Returns the error for a transaction that does not fit the history. */
export function conflict(rule: string): TidemarkError {
  return new TidemarkError('CONFLICT', `The transaction was not applied: ${rule}`, { rule });
}

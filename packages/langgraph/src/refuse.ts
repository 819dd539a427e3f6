/** The adapter's errors, for invalid arguments and damaged data. */
import { TidemarkError } from '@tidemark/core';

/** Returns an `INVALID_ARGUMENT` error that names an argument or a member of `configurable`, and the rule. */
export function refuse(field: string, rule: string): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${field} ${rule}`, { field, rule });
}

/** Returns the error for a record that does not match its checksum. */
export function damagedRecord(key: string): TidemarkError {
  return new TidemarkError('CORRUPT_VALUE', `The record ${key} is damaged: restore it from a backup`, { rule: key });
}

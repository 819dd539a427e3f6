/** Translates SQLite's errors to Tidemark's. */
import { isTidemarkError, TidemarkError } from '@tidemark/core';

const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** Returns the primary result code, or `null` when the error is not SQLite's. */
function resultCode(error: unknown): number | null {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether another process holds the lock, so that the statement can be retried. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** Whether the disk failed, so that it is unknown what was written. */
export function isIoError(error: unknown): boolean {
  return resultCode(error) === IO_ERROR;
}

/** Translates an error for the caller. Tidemark's own errors and programming errors pass unchanged. */
export function translateError(error: unknown, path: string): unknown {
  if (isTidemarkError(error)) return error;
  switch (resultCode(error)) {
    case null:
      return error;
    case BUSY:
    case LOCKED:
      return new TidemarkError('UNAVAILABLE', `${path} is locked by another process; try again`, { cause: error });
    case FULL:
      return new TidemarkError('STORAGE_FULL', `The disk of ${path} is full; nothing was written. Free some space`, {
        cause: error,
      });
    case READ_ONLY:
    case CANNOT_OPEN:
      return new TidemarkError(
        'STORAGE_ERROR',
        `${path} cannot be opened for writing; check that it exists and who may write it`,
        { cause: error },
      );
    case CORRUPT:
      return new TidemarkError(
        'STORAGE_ERROR',
        `A page of ${path} that this call needs is damaged; run doctor --deep, and restore the file from a backup`,
        { cause: error },
      );
    case NOT_A_DATABASE:
      return new TidemarkError('STORAGE_ERROR', `${path} is damaged or no SQLite file; restore it from a backup`, {
        cause: error,
      });
    default:
      return new TidemarkError('STORAGE_ERROR', `SQLite failed on ${path}: ${(error as Error).message}`, {
        cause: error,
      });
  }
}

/** Translates PostgreSQL's errors, and decides whether the write may have happened (GEN-8). */
import { isTidemarkError, TidemarkError } from '@tidemark/core';

/** Returns the SQLSTATE of a server error, or `null` for errors of the connection itself. */
export function sqlState(error: unknown): string | null {
  const code = (error as { code?: unknown; severity?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : null;
}

/** Whether the same transaction can be retried: it was rolled back in favour of another. */
export function isSerializationFailure(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01';
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/** Whether a lock was not free within `lock_timeout`. Nothing was written. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** The state with which the fence of a placed server refuses a statement. */
const FENCED = '55TMF';
/** About as long as a tenant is frozen when it moves. */
const RETRY_FENCED_MS = 200;

/** Whether a tenant of the statement is being moved, or is on another server. Nothing was written. */
export function isFenced(error: unknown): boolean {
  return sqlState(error) === FENCED;
}

/** Whether the server refused the statement because of one of its writes, or in favour of another. */
export function isRefused(error: unknown): boolean {
  if (isUniqueViolation(error) || isSerializationFailure(error) || isFenced(error)) return true;
  return /^(21|22|23|54)/.test(sqlState(error) ?? '');
}

/** States after which the server has certainly rolled back. */
const ROLLED_BACK = /^(08P01|22|23|25|26|28|34|38|39|3B|3D|3F|40001|40P01|42|53|54|55|57014|P0|0A)/;

/** Translates a failure while nothing was being written. */
export function translateRead(error: unknown): unknown {
  return translate(error, 'rejected');
}

/** Translates a failure during a write. Unless the server itself refused the write, it may have been committed. */
export function translateWrite(error: unknown): unknown {
  return translate(error, 'unknown');
}

function translate(error: unknown, otherwise: 'rejected' | 'unknown'): unknown {
  if (isTidemarkError(error)) return error;
  const state = sqlState(error);
  const message = error instanceof Error ? error.message : String(error);
  if (state === 'XX001' || state === 'XX002')
    return new TidemarkError(
      'STORAGE_ERROR',
      `PostgreSQL met a damaged page or index (${message}); run doctor --deep, and restore the database from a backup`,
      { cause: error },
    );
  if (state !== null && ROLLED_BACK.test(state)) return refusal(state, message, error);
  if (!isConnectionFailure(error, state)) return error;
  if (otherwise === 'unknown') {
    return new TidemarkError(
      'OUTCOME_UNKNOWN',
      `The connection was lost while the write was under way (${message}); retry it to find out its outcome`,
      { cause: error },
    );
  }
  return new TidemarkError('UNAVAILABLE', `PostgreSQL cannot be reached right now: ${message}`, { cause: error });
}

function refusal(state: string, message: string, cause: unknown): TidemarkError {
  if (state === '53100' || state === '53200')
    return new TidemarkError('STORAGE_FULL', `PostgreSQL is out of space: ${message}`, { cause });
  if (state === '57014')
    return new TidemarkError('TIMEOUT', 'PostgreSQL cancelled the statement at its time limit; nothing was written', {
      cause,
    });
  if (state === '25006')
    return new TidemarkError(
      'UNAVAILABLE',
      'This server is a replica and takes no writes; it may be promoted soon, try again',
      { cause },
    );
  if (state === FENCED)
    return new TidemarkError('UNAVAILABLE', `The tenant is being moved to another server: ${message}; try again`, {
      retryAfterMs: RETRY_FENCED_MS,
      cause,
    });
  if (/^(53|55P03|40)/.test(state))
    return new TidemarkError('UNAVAILABLE', `PostgreSQL is busy: ${message}`, { cause });
  return new TidemarkError('STORAGE_ERROR', `PostgreSQL reported an error: ${message}`, { cause });
}

/** Node's error codes for TLS failures, mostly about certificates. */
const NOT_TRUSTED = /^(CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|EPROTO$)/;

/** Lost sockets, refused or untrusted connections, driver timeouts, and servers that are starting or stopping. */
function isConnectionFailure(error: unknown, state: string | null): boolean {
  if (state !== null) return /^(08|57P)/.test(state);
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string' && /^E(CONN|PIPE|TIMEDOUT|HOST|NET|AI|NOTFOUND)/.test(code)) return true;
  if (typeof code === 'string' && NOT_TRUSTED.test(code)) return true;
  return /connection|terminated|timeout|timed out|ECONN|not queryable|Client has encountered/i.test(
    (error as Error)?.message ?? '',
  );
}

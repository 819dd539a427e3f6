/** Translates errors of Redis and of the connection, and decides whether the write may have happened (GEN-8). */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import { ReplyError } from './protocol/replies.ts';
import { OfflineError } from './protocol/session.ts';

/** Returns the first word of an error reply, or `null` for errors of the connection. */
export function replyCode(error: unknown): string | null {
  return error instanceof ReplyError ? error.code : null;
}

/**
 * Error codes of replies after which the command was not executed: the same server may execute it later, or another
 * server may execute it now.
 */
const NOT_NOW = new Set(['TRYAGAIN', 'CLUSTERDOWN', 'LOADING', 'MASTERDOWN', 'READONLY', 'BUSY', 'NOREPLICAS']);

/** Whether nothing was executed and the same command may be retried. */
export function isRefusedForNow(error: unknown): boolean {
  const code = replyCode(error);
  return code === null ? isUnsent(error) : NOT_NOW.has(code);
}

/** Whether the command never left this process. */
function isUnsent(error: unknown): boolean {
  return error instanceof OfflineError;
}

export function overloaded(): TidemarkError {
  return new TidemarkError('OVERLOADED', 'Too many calls wait for Redis; nothing was written, try again in a moment');
}

/** Translates the error of a failed command for the caller. */
export function translate(error: unknown, kind: 'read' | 'write'): unknown {
  if (isTidemarkError(error)) return error;
  const message = messageOf(error);
  const code = replyCode(error);
  if (code !== null) return refusal(code, message, error);
  if (kind === 'write' && !isUnsent(error)) {
    return new TidemarkError(
      'OUTCOME_UNKNOWN',
      `The connection to Redis was lost while the write was under way (${message}); retry it to find out its outcome`,
      { cause: error },
    );
  }
  return new TidemarkError('UNAVAILABLE', `Redis cannot be reached right now: ${message}`, { cause: error });
}

/** The error of a host with several addresses has only a code. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
}

function refusal(code: string, message: string, cause: unknown): TidemarkError {
  if (code === 'OOM' || code === 'MISCONF')
    return new TidemarkError('STORAGE_FULL', `Redis has no room, or cannot write to its disk: ${message}`, { cause });
  if (code === 'READONLY')
    return new TidemarkError(
      'UNAVAILABLE',
      'This server is a replica and takes no writes; it may be promoted soon, try again',
      { cause },
    );
  if (NOT_NOW.has(code) || code === 'MOVED' || code === 'ASK')
    return new TidemarkError('UNAVAILABLE', `Redis does not take this now, nothing was written: ${message}`, { cause });
  return new TidemarkError('STORAGE_ERROR', `Redis reported an error: ${message}`, { cause });
}

/** Exit codes. Each kind of result has its own code, so that scripts can distinguish them. */
import { type ErrorCode, isTidemarkError } from '@tidemark/core';

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  /** A checked condition does not hold. */
  unmet: 6,
  unavailable: 7,
  /** A check was inconclusive. */
  unknown: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The meaning of each exit code, for the documentation. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'success',
  1: 'failed',
  2: 'invalid arguments',
  3: 'not found',
  4: 'not authenticated or not allowed',
  5: 'conflict: the stored data is not as expected',
  6: 'a checked condition does not hold',
  7: 'unavailable or timed out; the same command may succeed later',
  8: 'a check was inconclusive',
  130: 'interrupted',
};

const EXIT_BY_ERROR: Partial<Record<ErrorCode, ExitCode>> = {
  INVALID_ARGUMENT: EXIT.usage,
  INVALID_PAYLOAD: EXIT.usage,
  PAYLOAD_TOO_LARGE: EXIT.usage,
  AMBIGUOUS_RUN: EXIT.usage,
  RUN_NOT_FOUND: EXIT.notFound,
  RUN_ARCHIVED: EXIT.notFound,
  RUN_DELETED: EXIT.notFound,
  NOT_FOUND: EXIT.notFound,
  UNAUTHENTICATED: EXIT.denied,
  FORBIDDEN: EXIT.denied,
  TENANT_MISMATCH: EXIT.denied,
  SEQ_CONFLICT: EXIT.conflict,
  VERSION_CONFLICT: EXIT.conflict,
  CONFLICT: EXIT.conflict,
  CLAIM_LOST: EXIT.conflict,
  TOKEN_CONSUMED: EXIT.conflict,
  SCOPE_MISMATCH: EXIT.conflict,
  SESSION_MISMATCH: EXIT.conflict,
  INVALID_TRANSITION: EXIT.conflict,
  UNAVAILABLE: EXIT.unavailable,
  OVERLOADED: EXIT.unavailable,
  TIMEOUT: EXIT.unavailable,
  OUTCOME_UNKNOWN: EXIT.unavailable,
  ABORTED: EXIT.interrupted,
};

export function exitCodeFor(error: unknown): ExitCode {
  return isTidemarkError(error) ? (EXIT_BY_ERROR[error.code] ?? EXIT.failed) : EXIT.failed;
}

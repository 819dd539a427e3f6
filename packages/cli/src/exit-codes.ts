/** How a command ends: one number for each kind of ending, so that scripts can tell them apart. */
import { type ErrorCode, isTidemarkError } from '@tidemark/core';

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  conflict: 5,
  /** A condition the command was asked to check does not hold. */
  unmet: 6,
  unavailable: 7,
  /** A condition the command was asked to check cannot be seen from here. */
  unknown: 8,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each exit code means, for help and documentation. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'failed',
  2: 'called in a way that cannot work',
  3: 'not found',
  4: 'not allowed',
  5: 'conflict: what is stored is not what was expected',
  6: 'a checked condition does not hold',
  7: 'unavailable or out of time; the same command may succeed later',
  8: 'a checked condition cannot be seen, so nobody knows whether it holds',
  130: 'interrupted',
};

const OF_ERRORS: Partial<Record<ErrorCode, ExitCode>> = {
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

export function exitCodeOf(error: unknown): ExitCode {
  return isTidemarkError(error) ? (OF_ERRORS[error.code] ?? EXIT.failed) : EXIT.failed;
}

/**
 * The one error class of Tidemark (GEN-1, GEN-8). Every failure a caller can meet has a stable code,
 * says whether the same call may be sent again, and whether anything may have been written.
 */

/** What each code means and whether sending the same call again can succeed. */
const CODES = {
  INVALID_ARGUMENT: { retryable: false },
  INVALID_PAYLOAD: { retryable: false },
  PAYLOAD_TOO_LARGE: { retryable: false },
  INVALID_TRANSITION: { retryable: false },
  SEQ_CONFLICT: { retryable: false },
  SCOPE_MISMATCH: { retryable: false },
  TENANT_MISMATCH: { retryable: false },
  SESSION_MISMATCH: { retryable: false },
  AMBIGUOUS_RUN: { retryable: false },
  RUN_NOT_FOUND: { retryable: false },
  RUN_ARCHIVED: { retryable: false },
  RUN_DELETED: { retryable: false },
  CORRUPT_EVENT: { retryable: false },
  CLAIM_LOST: { retryable: false },
  TOKEN_CONSUMED: { retryable: false },
  VERSION_CONFLICT: { retryable: false },
  LIMIT_EXCEEDED: { retryable: false },
  QUOTA_EXCEEDED: { retryable: true },
  UNSUPPORTED: { retryable: false },
  STORE_CLOSED: { retryable: false },
  STORAGE_FULL: { retryable: false },
  STORAGE_ERROR: { retryable: false },
  SCHEMA_MISMATCH: { retryable: false },
  DRIVER_MISSING: { retryable: false },
  DURABILITY_TOO_WEAK: { retryable: false },
  ABORTED: { retryable: false },
  TIMEOUT: { retryable: true },
  OVERLOADED: { retryable: true },
  UNAVAILABLE: { retryable: true },
  OUTCOME_UNKNOWN: { retryable: true },
} as const;

/** Stable, machine-readable name of a failure. */
export type ErrorCode = keyof typeof CODES;

/** Every code, for documentation and for checks over the wire. */
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(CODES) as ErrorCode[];

/** What an error carries besides its code and message. */
export interface ErrorDetails {
  /** The argument that was wrong, as a path: `payload.items[3].price`. */
  field?: string;
  /** The rule it broke, in words: `1 to 512 UTF-8 bytes`. */
  rule?: string;
  /** The value that now stands in the store: the run's last sequence, the memory state's version, … */
  current?: unknown;
  /** For `OUTCOME_UNKNOWN`: the exact write to send again; its keys make sending it again safe. */
  write?: unknown;
  /** Where a broken or offending event stands. */
  runId?: string;
  runSeq?: number;
  /** Where an archived run went. */
  archive?: string;
  /** What failed underneath. */
  cause?: unknown;
}

/**
 * Thrown by every operation of every store.
 *
 * @example
 * try { await store.runs.appendEvent(event) } catch (error) {
 *   if (isTidemarkError(error, 'OUTCOME_UNKNOWN')) await store.runs.appendEvent(event) // settled by its key
 * }
 */
export class TidemarkError extends Error {
  override readonly name = 'TidemarkError';
  readonly code: ErrorCode;
  /** Whether the same call, sent again later, can succeed. */
  readonly retryable: boolean;
  /** `rejected`: nothing was written. `unknown`: it may have been (GEN-8). */
  readonly outcome: 'rejected' | 'unknown';
  readonly field?: string;
  readonly rule?: string;
  readonly current?: unknown;
  readonly write?: unknown;
  readonly runId?: string;
  readonly runSeq?: number;
  readonly archive?: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    const { cause, ...rest } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = CODES[code].retryable;
    this.outcome = code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'rejected';
    Object.assign(this, rest);
  }
}

/** Whether something thrown is a Tidemark error, of one of the given codes if any are given. */
export function isTidemarkError(error: unknown, ...codes: ErrorCode[]): error is TidemarkError {
  if (!(error instanceof Error) || error.name !== 'TidemarkError') return false;
  return codes.length === 0 || codes.includes((error as TidemarkError).code);
}

/** An argument that breaks a rule: names the field and the rule. */
export function invalidArgument(field: string, rule: string, received?: unknown): TidemarkError {
  return new TidemarkError('INVALID_ARGUMENT', `${field} must be ${rule}${describe(received)}`, { field, rule });
}

function describe(received: unknown): string {
  if (received === undefined) return '';
  if (typeof received === 'string') {
    return `, not ${JSON.stringify(received.length > 60 ? `${received.slice(0, 60)}…` : received)}`;
  }
  if (typeof received === 'number' || typeof received === 'boolean' || received === null) return `, not ${received}`;
  return `, not a value of type ${Array.isArray(received) ? 'array' : typeof received}`;
}

/** Problem documents (RFC 9457): the JSON form of a `TidemarkError`, from which the client rebuilds the same error. */
import { type ErrorCode, type ErrorDetails, TidemarkError } from '@tidemark/core/portable';

/** The HTTP status of each error code. */
export const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INVALID_PAYLOAD: 422,
  PAYLOAD_TOO_LARGE: 413,
  INVALID_TRANSITION: 409,
  SEQ_CONFLICT: 412,
  SCOPE_MISMATCH: 409,
  TENANT_MISMATCH: 403,
  SESSION_MISMATCH: 409,
  AMBIGUOUS_RUN: 409,
  QUOTA_EXCEEDED: 429,
  RUN_NOT_FOUND: 404,
  RUN_ARCHIVED: 410,
  RUN_DELETED: 410,
  CORRUPT_EVENT: 500,
  CORRUPT_VALUE: 500,
  CODEC_FAILED: 500,
  PROJECTION_FAILED: 500,
  CONFLICT: 409,
  CLAIM_LOST: 409,
  TOKEN_CONSUMED: 410,
  VERSION_CONFLICT: 412,
  LIMIT_EXCEEDED: 409,
  NOT_FOUND: 404,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  UNSUPPORTED: 501,
  STORE_CLOSED: 503,
  STORAGE_FULL: 507,
  STORAGE_ERROR: 500,
  SCHEMA_MISMATCH: 500,
  DRIVER_MISSING: 500,
  DURABILITY_TOO_WEAK: 500,
  ABORTED: 503,
  TIMEOUT: 504,
  OVERLOADED: 503,
  UNAVAILABLE: 503,
  OUTCOME_UNKNOWN: 504,
};

/** Details that are sent. `cause` stays on the server, and the caller already has `write`. */
type Detail = Exclude<keyof ErrorDetails, 'cause' | 'write'>;

/** An object rather than a list, so that a missing detail is a type error. */
const DETAILS: Readonly<Record<Detail, true>> = {
  field: true,
  rule: true,
  errors: true,
  current: true,
  runId: true,
  runSeq: true,
  keyId: true,
  archive: true,
  retryAfterMs: true,
  attempts: true,
};

export const PROBLEM_DETAILS = Object.keys(DETAILS) as readonly Detail[];

export interface Problem {
  /** URL of the page that explains the code. */
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  retryable: boolean;
  outcome: 'rejected' | 'unknown';
  [detail: string]: unknown;
}

/**
 * Returns whether a value is a problem document of a Tidemark server. The code may be unknown, because a newer server
 * may have further codes.
 */
function isProblem(value: unknown): value is Problem {
  const { code, retryable, outcome } = Object(value) as Partial<Problem>;
  return (
    typeof code === 'string' && typeof retryable === 'boolean' && (outcome === 'rejected' || outcome === 'unknown')
  );
}

/**
 * Rebuilds the error that the server threw. `more` adds details that only the caller knows. The error keeps the
 * server's code, unless this version does not know the code and the outcome is unknown.
 */
export function errorOfProblem(problem: Problem, more: ErrorDetails = {}): TidemarkError {
  const details: ErrorDetails = { ...more };
  for (const name of PROBLEM_DETAILS) if (problem[name] !== undefined) details[name] = problem[name] as never;
  const code = problem.outcome === 'unknown' ? 'OUTCOME_UNKNOWN' : problem.code;
  return new TidemarkError(code, String(problem.detail), details);
}

/** Returns the problem document of a failed response, or `null` if the response has none. */
export async function problemOfAnswer(response: Response): Promise<Problem | null> {
  const problem: unknown = await response.json().catch(() => null);
  return isProblem(problem) ? problem : null;
}

/** Returns the problem in the last line of a response that failed midway, or `null` for any other line. */
export function problemOfLine(line: unknown): Problem | null {
  const problem = (line as { problem?: Problem } | null)?.problem;
  return problem?.code !== undefined && Object.keys(line as object).length === 1 ? problem : null;
}

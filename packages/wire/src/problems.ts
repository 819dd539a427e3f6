/** Problem documents (RFC 9457): a `TidemarkError` on its way from a server to its caller, who builds the same error again. */
import { ERROR_CODES, type ErrorCode, type ErrorDetails, TidemarkError } from '@tidemark/core/portable';

/** The status of each code. */
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

/** Details that travel. `cause` stays at the server, and the caller has the `write` already. */
type Detail = Exclude<keyof ErrorDetails, 'cause' | 'write'>;

/** An object, so that a detail of errors that is missing here is a type error. */
const DETAILS: Readonly<Record<Detail, true>> = {
  field: true,
  rule: true,
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
  /** Where the code is explained. */
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  retryable: boolean;
  outcome: 'rejected' | 'unknown';
  [detail: string]: unknown;
}

/** Returns whether a value is the problem document of a code that is known here. */
function isProblem(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false;
  const { code } = value as { code?: unknown };
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}

/** Returns the error of a problem document: the one that the server's store threw, with what only its caller knows. */
export function errorOfProblem(problem: Problem, more: ErrorDetails = {}): TidemarkError {
  const details: ErrorDetails = { ...more };
  for (const name of PROBLEM_DETAILS) if (problem[name] !== undefined) details[name] = problem[name] as never;
  return new TidemarkError(problem.code, String(problem.detail), details);
}

/** Returns the problem document of an answer that is not a success; `null` for an answer of something else than a server. */
export async function problemOfAnswer(response: Response): Promise<Problem | null> {
  const problem: unknown = await response.json().catch(() => null);
  return isProblem(problem) ? problem : null;
}

/** Returns the problem that stands in the last line of an answer that failed on its way, or `null` for any other line. */
export function problemOfLine(line: unknown): Problem | null {
  const problem = (line as { problem?: Problem } | null)?.problem;
  return problem?.code !== undefined && Object.keys(line as object).length === 1 ? problem : null;
}

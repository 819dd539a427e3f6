/** Errors as `application/problem+json`: every detail of a TidemarkError, so that a client can build the same error again. */
import type { ServerResponse } from 'node:http';
import { type ErrorCode, isTidemarkError, TidemarkError } from '@tidemark/core';
import { redactText } from '../redaction.ts';
import { Refusal } from './refusal.ts';

/** The status of each code. */
export const STATUS_OF: Record<ErrorCode, number> = {
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

/** A problem document (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  retryable: boolean;
  outcome: 'rejected' | 'unknown';
  [detail: string]: unknown;
}

/** What is told besides code and message. `cause` and `write` stay here: one is ours, the other the caller has. */
const DETAILS = ['field', 'rule', 'current', 'runId', 'runSeq', 'keyId', 'archive', 'attempts'] as const;

/** The problem that something thrown is; what nobody foresaw is told without its inside. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Refusal) return describe(thrown.error, thrown.status);
  if (!isTidemarkError(thrown)) {
    return describe(new TidemarkError('STORAGE_ERROR', 'The server failed unexpectedly; its log says why'), 500);
  }
  // The server's store is not the caller's to open again.
  if (thrown.code === 'STORE_CLOSED') return describe(new TidemarkError('UNAVAILABLE', 'The server is stopping'), 503);
  return describe(thrown, STATUS_OF[thrown.code] ?? 500);
}

function describe(error: TidemarkError, status: number): Problem {
  const { code, message, retryable, outcome } = error;
  const problem: Problem = {
    type: `/errors#${code}`,
    title: code.toLowerCase().replaceAll('_', ' '),
    status,
    detail: redactText(message),
    code,
    retryable,
    outcome,
  };
  for (const name of DETAILS) {
    const value = error[name];
    if (value !== undefined) problem[name] = typeof value === 'string' ? redactText(value) : value;
  }
  return problem;
}

/** Whether nobody foresaw it, so that the log must have it whole. */
export function isUnforeseen(thrown: unknown): boolean {
  return !(thrown instanceof Refusal) && !isTidemarkError(thrown);
}

/** Answers with a problem; when part of an answer is out already, cuts the connection instead. */
export function sendProblem(response: ServerResponse, thrown: unknown): number {
  const problem = problemOf(thrown);
  if (response.headersSent) {
    response.destroy();
    return problem.status;
  }
  const headers: Record<string, string> = { 'content-type': 'application/problem+json' };
  if (problem.status === 503 || problem.status === 429) headers['retry-after'] = '1';
  if (problem.status === 401) headers['www-authenticate'] = 'Bearer';
  if (thrown instanceof Refusal) Object.assign(headers, thrown.headers);
  response.writeHead(problem.status, headers);
  response.end(JSON.stringify(problem));
  return problem.status;
}

/**
 * Sends errors as `application/problem+json` with all details of a TidemarkError, so that a client can rebuild the
 * error.
 */
import type { ServerResponse } from 'node:http';
import { type ErrorCode, isTidemarkError, TidemarkError } from '@tidemark/core';
import { PROBLEM_DETAILS, PROBLEM_TYPE, type Problem, STATUS_OF } from '@tidemark/wire';
import { redactText } from '../redaction.ts';
import { type Exchange, exchangeOf } from './exchange.ts';
import { Refusal } from './refusal.ts';

/**
 * Messages for failures of the store. They replace the original messages, because the original messages contain paths,
 * hosts and database errors.
 */
const FAULTS: Partial<Record<ErrorCode, string>> = {
  CORRUPT_EVENT: 'A stored event is damaged, and nothing of it is shown',
  CODEC_FAILED: 'A stored value cannot be decoded',
  PROJECTION_FAILED: 'A handler of a projection failed',
  STORAGE_FULL: 'The storage of the server is full; nothing was written',
  STORAGE_ERROR: 'The server could not read or write its storage',
  SCHEMA_MISMATCH: 'The data was written by a version that this server cannot work with',
  DRIVER_MISSING: 'The server lacks a package that it needs',
  DURABILITY_TOO_WEAK: 'The storage of the server is less durable than it must be',
};

/** Messages for transient failures. The original message is kept unless another error caused the failure. */
const PASSING: Partial<Record<ErrorCode, string>> = {
  ABORTED: 'The server gave the call up before anything was written',
  TIMEOUT: 'The call ran out of time; nothing was written',
  OVERLOADED: 'The store has too much to do; nothing was written, try again',
  UNAVAILABLE: 'The store cannot be reached right now; nothing was written, try again',
  OUTCOME_UNKNOWN: 'It is not known whether this was written; retry it to find out its outcome',
};

/**
 * Returns the problem document of an error. Details that only operators may see are omitted and logged under the
 * request id.
 */
export function problemOf(thrown: unknown, response?: ServerResponse): Problem {
  if (thrown instanceof Refusal) return describe(thrown.error, thrown.status);
  const exchange = exchangeOf(response);
  if (!isTidemarkError(thrown))
    return hidden(new TidemarkError('STORAGE_ERROR', 'unforeseen'), 'The server failed unexpectedly', thrown, exchange);
  const { code } = thrown;
  // Reported as unavailable, because callers cannot reopen the server's store.
  if (code === 'STORE_CLOSED') return describe(new TidemarkError('UNAVAILABLE', 'The server is stopping'), 503);
  const sentence = sentenceInstead(thrown);
  if (sentence !== undefined) return hidden(thrown, sentence, thrown, exchange);
  const problem = describe(thrown, isPartlyRefused(thrown) ? 409 : (STATUS_OF[code] ?? 500));
  return exchange?.isByAdmin ? problem : withoutArchive(problem);
}

/**
 * Whether the outcome is unknown only because the store rejected a part of the write. That is the caller's error, not a
 * failure of the store.
 */
function isPartlyRefused({ code, cause }: TidemarkError): boolean {
  return code === 'OUTCOME_UNKNOWN' && isTidemarkError(cause) && cause.outcome === 'rejected' && !cause.retryable;
}

/** Returns the replacement for the message, or `undefined` if the message contains only the caller's own ids. */
function sentenceInstead({ code, cause, runId }: TidemarkError): string | undefined {
  if (code === 'CORRUPT_EVENT' && runId !== undefined) return undefined;
  // The original message is kept. It contains the key that the caller requested.
  if (code === 'CORRUPT_VALUE') return undefined;
  // An error caused by a rejection, as in a partly rejected batch, may be shown to the caller.
  const isOurs = cause === undefined || (isTidemarkError(cause) && sentenceInstead(cause) === undefined);
  return FAULTS[code] ?? (isOurs ? undefined : PASSING[code]);
}

function hidden(error: TidemarkError, sentence: string, logged: unknown, exchange: Exchange | undefined): Problem {
  const problem = withoutArchive(describe(error, STATUS_OF[error.code] ?? 500));
  const requestId = exchange?.noteFailure(error.code, logged);
  if (requestId === undefined) return { ...problem, detail: sentence };
  return { ...problem, detail: `${sentence}. The server's log has the details of request ${requestId}`, requestId };
}

/** Removes the locations of archives, which only admins may see. */
function withoutArchive(problem: Problem): Problem {
  const { archive, ...rest } = problem;
  return archive === undefined
    ? problem
    : ({ ...rest, detail: rest.detail.replaceAll(` at ${archive}`, '') } as Problem);
}

/**
 * The maximum length of a string. Longer texts contain names and values from the caller, and their beginning is enough to
 * identify them.
 */
const MAX_CHARACTERS = 2_048;

function shown(text: string): string {
  const redacted = redactText(text);
  return redacted.length > MAX_CHARACTERS ? `${redacted.slice(0, MAX_CHARACTERS)}…` : redacted;
}

function describe(error: TidemarkError, status: number): Problem {
  const { code, message, retryable, outcome } = error;
  const problem: Problem = {
    type: `/errors#${code}`,
    title: code.toLowerCase().replaceAll('_', ' '),
    status,
    detail: shown(message),
    code,
    retryable,
    outcome,
  };
  for (const name of PROBLEM_DETAILS) {
    const value = error[name];
    if (value !== undefined) problem[name] = typeof value === 'string' ? shown(value) : value;
  }
  if (error.errors)
    problem.errors = error.errors.map(({ field, rule }) => ({ field: shown(field), rule: shown(rule) }));
  return problem;
}

/** Returns the delay in whole seconds, rounded up because an earlier retry would be refused again. */
function retryAfterOf({ retryAfterMs }: Problem): string {
  return typeof retryAfterMs === 'number' ? String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) : '1';
}

/** Sends a problem. If part of the response has been sent already, closes the connection instead. */
export function sendProblem(response: ServerResponse, thrown: unknown): number {
  const problem = problemOf(thrown, response);
  if (response.headersSent) {
    response.destroy();
    return problem.status;
  }
  const headers: Record<string, string> = { 'content-type': PROBLEM_TYPE };
  if (problem.status === 503 || problem.status === 429) headers['retry-after'] = retryAfterOf(problem);
  if (problem.status === 401) headers['www-authenticate'] = 'Bearer';
  if (thrown instanceof Refusal) Object.assign(headers, thrown.headers);
  response.writeHead(problem.status, headers);
  response.end(JSON.stringify(problem));
  return problem.status;
}

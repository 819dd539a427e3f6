/** Errors as `application/problem+json`: every detail of a TidemarkError, so that a client can build the same error again. */
import type { ServerResponse } from 'node:http';
import { type ErrorCode, isTidemarkError, TidemarkError } from '@tidemark/core';
import { PROBLEM_DETAILS, PROBLEM_TYPE, type Problem, STATUS_OF } from '@tidemark/wire';
import { redactText } from '../redaction.ts';
import { type Exchange, exchangeOf } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** Failures of the store itself: their messages name paths, hosts and what the database said, so callers get these instead. */
const FAULTS: Partial<Record<ErrorCode, string>> = {
  CORRUPT_EVENT: 'A stored event is damaged, and nothing of it is shown',
  CODEC_FAILED: 'A stored value cannot be decoded',
  PROJECTION_FAILED: 'A handler of a projection failed',
  STORAGE_FULL: 'The storage of the server is full; nothing was written',
  STORAGE_ERROR: 'The server could not read or write its storage',
  SCHEMA_MISMATCH: 'The data was written by a newer version than the server can work beside',
  DRIVER_MISSING: 'The server lacks a package that it needs',
  DURABILITY_TOO_WEAK: 'The storage of the server is less durable than it must be',
};

/** Failures that pass: told in their own words unless something else failed underneath. */
const PASSING: Partial<Record<ErrorCode, string>> = {
  ABORTED: 'The server gave the call up before anything was written',
  TIMEOUT: 'The call ran out of time; nothing was written',
  OVERLOADED: 'The store has too much to do; nothing was written, try again',
  UNAVAILABLE: 'The store cannot be reached right now; nothing was written, try again',
  OUTCOME_UNKNOWN: 'It is not known whether this was written; send it again to learn what became of it',
};

/**
 * Returns the problem document of an error. Details that only operators may see are logged under the id of the request
 * that `response` answers, and left out.
 */
export function problemOf(thrown: unknown, response?: ServerResponse): Problem {
  if (thrown instanceof Refusal) return describe(thrown.error, thrown.status);
  const exchange = exchangeOf(response);
  if (!isTidemarkError(thrown))
    return hidden(new TidemarkError('STORAGE_ERROR', 'unforeseen'), 'The server failed unexpectedly', thrown, exchange);
  const { code } = thrown;
  // The server's store is not the caller's to open again.
  if (code === 'STORE_CLOSED') return describe(new TidemarkError('UNAVAILABLE', 'The server is stopping'), 503);
  const sentence = sentenceInstead(thrown);
  if (sentence !== undefined) return hidden(thrown, sentence, thrown, exchange);
  const problem = describe(thrown, isPartlyRefused(thrown) ? 409 : (STATUS_OF[code] ?? 500));
  return exchange?.isByAdmin ? problem : withoutArchive(problem);
}

/** Whether the outcome is unknown only because a part of the write was refused: the caller's doing, and no failure of the store. */
function isPartlyRefused({ code, cause }: TidemarkError): boolean {
  return code === 'OUTCOME_UNKNOWN' && isTidemarkError(cause) && cause.outcome === 'rejected' && !cause.retryable;
}

/** What a caller is told instead of the message; `undefined` where the message holds nothing but the caller's own ids. */
function sentenceInstead({ code, cause, runId }: TidemarkError): string | undefined {
  if (code === 'CORRUPT_EVENT' && runId !== undefined) return undefined;
  // It names what the caller asked for.
  if (code === 'CORRUPT_VALUE') return undefined;
  // A refusal of ours underneath, as in a batch of which a part was refused, is the caller's to read.
  const isOurs = cause === undefined || (isTidemarkError(cause) && sentenceInstead(cause) === undefined);
  return FAULTS[code] ?? (isOurs ? undefined : PASSING[code]);
}

function hidden(error: TidemarkError, sentence: string, logged: unknown, exchange: Exchange | undefined): Problem {
  const problem = withoutArchive(describe(error, STATUS_OF[error.code] ?? 500));
  const requestId = exchange?.noteFailure(error.code, logged);
  if (requestId === undefined) return { ...problem, detail: sentence };
  return { ...problem, detail: `${sentence}. The server's log has the details of request ${requestId}`, requestId };
}

/** Where an archive lies is for admins only. */
function withoutArchive(problem: Problem): Problem {
  const { archive, ...rest } = problem;
  return archive === undefined
    ? problem
    : ({ ...rest, detail: rest.detail.replaceAll(` at ${archive}`, '') } as Problem);
}

/** Longer texts come from names and values that a caller chose; the beginning says which. */
const MOST_CHARACTERS = 2_048;

function shown(text: string): string {
  const redacted = redactText(text);
  return redacted.length > MOST_CHARACTERS ? `${redacted.slice(0, MOST_CHARACTERS)}…` : redacted;
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
  return problem;
}

/** Whole seconds, rounded up: whoever comes earlier is refused again. */
function retryAfterOf({ retryAfterMs }: Problem): string {
  return typeof retryAfterMs === 'number' ? String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) : '1';
}

/** Answers with a problem; when part of an answer is out already, cuts the connection instead. */
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

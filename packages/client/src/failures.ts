/**
 * Maps failed responses and broken connections to errors. A call without a `write` has not written anything, so it is
 * safe to retry.
 */
import { type StoreWrite, TidemarkError } from '@tidemark/core/portable';
import { errorOfProblem, type Problem, problemOfAnswer } from '@tidemark/wire';

/** Connection failures that happen before anything was sent. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Rebuilds the error that a problem document describes. An `OUTCOME_UNKNOWN` error carries the write of the call. */
export function errorOf(problem: Problem, write: StoreWrite | undefined): TidemarkError {
  return errorOfProblem(problem, problem.outcome === 'unknown' && write ? { write } : {});
}

/** Returns the error of a failed response from the server, or from a proxy in front of it. */
export async function errorOfAnswer(response: Response, write: StoreWrite | undefined): Promise<TidemarkError> {
  const problem = await problemOfAnswer(response);
  if (problem) return errorOf(problem, write);
  const cause = new Error(`HTTP ${response.status} from ${response.url}`);
  if (response.status === 503 || response.status === 429)
    return new TidemarkError('UNAVAILABLE', 'The server takes no calls right now; try again', { cause });
  if (response.status >= 500) return lostAnswer(write, cause);
  return new TidemarkError('STORAGE_ERROR', `The server at this address is not a Tidemark server: ${cause.message}`, {
    cause,
  });
}

/** Returns the error of a call whose connection failed. */
export function errorOfConnection(url: string, cause: unknown, write: StoreWrite | undefined): TidemarkError {
  // `fetch` reports only that it failed. The cause of its error contains the reason.
  const { code, message } = (cause as { cause?: { code?: string; message?: string } })?.cause ?? {};
  const reason = code ?? message ?? (cause as Error)?.message;
  if (!write || (code !== undefined && UNSENT.has(code)))
    return new TidemarkError('UNAVAILABLE', `The server at ${url} cannot be reached: ${reason}; try again`, { cause });
  return lostAnswer(write, cause);
}

/** Returns the error of a call whose response was lost. */
export function lostAnswer(write: StoreWrite | undefined, cause: unknown): TidemarkError {
  if (!write) return new TidemarkError('UNAVAILABLE', 'The answer was lost; try again', { cause });
  const message = 'The answer was lost; retry the same write to find out its outcome';
  return new TidemarkError('OUTCOME_UNKNOWN', message, { write, cause });
}

/** Returns the error of a call that was aborted or timed out. */
export function errorOfGivingUp(
  why: 'was aborted' | 'ran out of time',
  write: StoreWrite | undefined,
  cause: unknown,
): TidemarkError {
  if (write) {
    const message = `The write ${why} while it was under way; retry the same write to find out its outcome`;
    return new TidemarkError('OUTCOME_UNKNOWN', message, { write, cause });
  }
  return why === 'was aborted'
    ? new TidemarkError('ABORTED', 'The call was aborted', { cause })
    : new TidemarkError('TIMEOUT', 'The call ran out of time; try again or raise timeoutMs', { cause });
}

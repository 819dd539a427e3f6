/** The checks at the start of every call, shared by stores and clients over HTTP. */
import { checkInteger } from '../checks/numbers.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';

/**
 * Returns the time limit of a call in milliseconds. Throws if the store is closed, the call is already aborted, or an
 * option is invalid.
 */
export function timeLimitOf(options: CallOptions | undefined, closed: AbortSignal, defaultMs: number): number {
  if (closed.aborted) throw new TidemarkError('STORE_CLOSED', 'The store is closed; open it again to continue');
  const signal = options?.signal;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw invalidArgument('signal', 'an AbortSignal', signal);
  if (signal?.aborted)
    throw new TidemarkError('ABORTED', 'The call was aborted before it began', { cause: signal.reason });
  return options?.timeoutMs === undefined ? defaultMs : checkInteger(options.timeoutMs, 'timeoutMs', 1);
}

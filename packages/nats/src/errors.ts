/** Translates failures of NATS, and decides whether the write may have happened (GEN-8). */
import { isTidemarkError, TidemarkError } from '@tidemark/core';

/** An error response of JetStream, with its stable code. */
export class RefusedByServer extends Error {
  override readonly name = 'RefusedByServer';
  readonly code: number;

  constructor(code: number, description: string) {
    super(description);
    this.code = code;
  }
}

/** No server received the request, for example during a leader election, so nothing was executed. */
export class NobodyAnswers extends Error {
  override readonly name = 'NobodyAnswers';
}

/** The request was sent but no response arrived, so it may have been executed. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost';
}

export const NO_MESSAGE = 10037;
export const WRONG_LAST_SEQUENCE = 10071;
/**
 * The stream does not exist. A member of a cluster that has not created its copy of a new stream yet also returns this
 * code for a while.
 */
export const NO_STREAM = 10059;
export const STREAM_EXISTS = 10058;
/** The server cannot create replicas. Returned by a single server. */
export const NO_REPLICAS = 10074;
/** Another stream has the subjects, or another process created this stream between two checks of the server. */
export const SUBJECTS_TAKEN = 10065;
/** The consumer no longer exists. */
export const NO_CONSUMER = 10014;

/** Another message with the same id is being stored. */
export const IN_PROCESS = 10158;

/** Out of memory or storage, or over a limit of the account or stream. */
const OUT_OF_ROOM = new Set([10002, 10023, 10028, 10047, 10077, 10122]);
/** Errors of servers that may still be starting or electing a leader. Nothing was executed, and a retry may succeed. */
const NOT_NOW = new Set([
  10005, // too few peers for a stream
  10007, // not assigned
  10008, // the cluster is not available
  10009, // not the leader
  10041, // an error of Raft
  NO_STREAM,
  10075, // a peer is being remapped
  10076, // JetStream is not enabled, or not yet
  10118, // a stream is offline
  10119, // a consumer is offline
  IN_PROCESS,
  10163, // the last sequence of the subject is not known yet
  10164, // a message before this one is being stored
  10194, // a stream is offline, with a reason
  10195, // a consumer is offline, with a reason
]);
const TOO_LARGE = 10054;

/** Whether nothing was executed and the same request may be retried. */
export function isPassing(error: unknown): boolean {
  return error instanceof NobodyAnswers || (error instanceof RefusedByServer && NOT_NOW.has(error.code));
}

/** Translates a failure for the caller. To be used only when nothing was written. */
export function translate(error: unknown): unknown {
  if (isTidemarkError(error)) return error;
  if (error instanceof NobodyAnswers || error instanceof AnswerLost) return unavailable(error);
  if (!(error instanceof RefusedByServer)) return isConnectionFailure(error) ? unavailable(error as Error) : error;
  if (NOT_NOW.has(error.code)) return unavailable(error);
  if (OUT_OF_ROOM.has(error.code))
    return new TidemarkError('STORAGE_FULL', `NATS is out of room: ${error.message}`, { cause: error });
  if (error.code === TOO_LARGE)
    return new TidemarkError('PAYLOAD_TOO_LARGE', `NATS rejected the message: ${error.message}`, {
      field: 'payload',
      rule: 'at most max_payload of the server',
      cause: error,
    });
  return new TidemarkError('STORAGE_ERROR', `NATS reported an error: ${error.message} (${error.code})`, {
    cause: error,
  });
}

export function unavailable(cause: Error): TidemarkError {
  return new TidemarkError('UNAVAILABLE', `NATS cannot be reached right now: ${cause.message}`, { cause });
}

export function outcomeUnknown(cause: unknown): TidemarkError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TidemarkError(
    'OUTCOME_UNKNOWN',
    `The acknowledgement of the write was lost (${why}); retry it to find out its outcome`,
    { cause },
  );
}

function isConnectionFailure(error: unknown): boolean {
  const name = (error as Error | null)?.name ?? '';
  return /^(ConnectionError|TimeoutError|RequestError|NoRespondersError|AuthorizationError|ProtocolError|DrainingConnectionError|ClosedConnectionError)$/.test(
    name,
  );
}

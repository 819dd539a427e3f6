/** Live reads. A broken stream reconnects after the last received event, without gaps or repeats. */
import { type CallOptions, sleep, TidemarkError } from '@tidemark/core/portable';
import {
  CAUGHT_UP_EVENT,
  chunksOf,
  END_EVENT,
  EVENT_STREAM,
  errorOfProblem,
  eventsOf,
  LAST_EVENT_ID_HEADER,
  PROBLEM_EVENT,
  type ServerEvent,
} from '@tidemark/wire';
import { boundsOf, type Request, type Transport } from './transport.ts';

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** The server sends at least a comment every 15 s. A connection that stays silent for this long counts as dead. */
const SILENCE_MS = 45_000;

/** Events that describe the stream itself. They are not yielded. */
const NOT_YIELDED = new Set([CAUGHT_UP_EVENT, END_EVENT]);

/**
 * Yields the events of a stream until the caller's signal aborts or the store is closed. Both end the iteration without
 * an error. After a broken connection or another retryable error the stream reconnects with backoff.
 */
export async function* follow(
  transport: Transport,
  request: Request,
  options: CallOptions | undefined,
): AsyncGenerator<ServerEvent, void, undefined> {
  transport.startCall(options);
  const signal = options?.signal ? AbortSignal.any([options.signal, transport.closed]) : transport.closed;
  let lastId: string | null = null;
  let backoffMs = FIRST_BACKOFF_MS;
  while (!signal.aborted) {
    try {
      for await (const event of connection(transport, request, lastId, signal)) {
        lastId = event.id;
        backoffMs = FIRST_BACKOFF_MS;
        if (event.event === PROBLEM_EVENT) throw errorOfProblem(JSON.parse(event.data));
        if (!NOT_YIELDED.has(event.event)) yield event;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TidemarkError && !error.retryable) throw error;
    }
    await sleep(backoffMs, signal);
    backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
  }
}

/** Yields the events of one connection, until it ends or stays silent for `SILENCE_MS`. */
async function* connection(
  transport: Transport,
  request: Request,
  lastId: string | null,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const bounds = boundsOf({ signal }, SILENCE_MS);
  const headers: Record<string, string> = lastId === null ? {} : { [LAST_EVENT_ID_HEADER]: lastId };
  try {
    const body = await transport.connect({ accept: EVENT_STREAM, ...request, headers }, bounds.signal);
    for await (const event of eventsOf(chunksOf(body, bounds))) yield { ...event, id: event.id ?? lastId };
  } finally {
    bounds.end();
  }
}

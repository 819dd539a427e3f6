/** Live reads: a stream that is connected again when it breaks, after the last thing that was seen, without gap or repeat. */
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
import type { Request, Transport } from './transport.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** The server says something at least every 15 s; so much silence means that nobody is there. */
const SILENCE_MS = 45_000;

/** What a live read gives besides what it was asked for. */
const ASIDE = new Set([CAUGHT_UP_EVENT, END_EVENT]);

/**
 * The events of a stream until the caller's signal aborts or the store is closed, which ends them without an error. A
 * broken connection is no error either: the stream goes on as soon as the server is there again.
 */
export async function* follow(
  transport: Transport,
  request: Request,
  options: CallOptions | undefined,
): AsyncGenerator<ServerEvent, void, undefined> {
  transport.startCall(options);
  const signal = options?.signal ? AbortSignal.any([options.signal, transport.closed]) : transport.closed;
  let lastId: string | null = null;
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      for await (const event of connection(transport, request, lastId, signal)) {
        lastId = event.id;
        pauseMs = FIRST_PAUSE_MS;
        if (event.event === PROBLEM_EVENT) throw errorOfProblem(JSON.parse(event.data));
        if (!ASIDE.has(event.event)) yield event;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TidemarkError && !error.retryable) throw error;
    }
    await sleep(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** The events of one connection, until it ends or nothing is heard of it. */
async function* connection(
  transport: Transport,
  request: Request,
  lastId: string | null,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  signal.addEventListener('abort', abort, { once: true });
  const headers: Record<string, string> = lastId === null ? {} : { [LAST_EVENT_ID_HEADER]: lastId };
  try {
    const live = { accept: EVENT_STREAM, ...request, headers };
    const stream = await transport.connect(live, controller.signal);
    for await (const event of eventsOf(audible(stream, abort))) yield { ...event, id: event.id ?? lastId };
  } finally {
    signal.removeEventListener('abort', abort);
    abort();
  }
}

/** The chunks of a stream that is given up when it is silent for too long. */
function audible(stream: ReadableStream<Uint8Array>, giveUp: () => void): AsyncIterable<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return chunksOf(stream, {
    begin: () => {
      timer = setTimeout(giveUp, SILENCE_MS);
    },
    end: () => clearTimeout(timer),
  });
}

/** Helpers for live reads. They determine where a stream resumes, and how long a long poll waits. */
import { invalidArgument } from '@tidemark/core';
import { LAST_EVENT_ID_HEADER } from '@tidemark/wire';
import type { LiveQuery } from '@tidemark/wire/routes';
import { ANSWERED } from '../http/answer.ts';
import type { Subscription } from '../streams/event-stream.ts';
import type { Call } from './route.ts';

const MAX_WAIT_MS = 60_000;
/** The memory of a stream in addition to its socket, and the memory of each of its topics. */
const STREAM_BYTES = 8 * 1024;
const TOPIC_BYTES = 2 * 1024;
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000 };

/** Returns where a stream resumes. The id of the last received event takes precedence over the cursor in the query. */
export function lastEventIdOf({ request, query }: Call<LiveQuery>): string | undefined {
  return (request.headers[LAST_EVENT_ID_HEADER] as string | undefined) ?? query.lastEventId;
}

/**
 * Opens a live stream of topics within the caller's limits. Reserves the memory of the stream for its tenant until the
 * stream ends.
 */
export function openStream(call: Call<unknown>, subscriptions: readonly Subscription[]): typeof ANSWERED {
  const { store, principal, response, services } = call;
  const memory = services.memory.lease(store.info.tenantId ?? null);
  memory.grow(STREAM_BYTES + TOPIC_BYTES * subscriptions.length);
  response.once('close', () => memory.release());
  services.callers?.admitTopics(principal, subscriptions.length, response);
  services.hub.stream(response, subscriptions);
  return ANSWERED;
}

/** Returns the wait in milliseconds; 0 if none was requested. */
export function waitOf({ wait }: LiveQuery): number {
  if (wait === undefined) return 0;
  const parts = /^(\d{1,9})(ms|s|m)?$/.exec(wait);
  const ms = parts ? Number(parts[1]) * UNITS[parts[2] ?? 'ms']! : 0;
  if (ms >= 1 && ms <= MAX_WAIT_MS) return ms;
  throw invalidArgument('wait', 'a duration of at most 60 s, such as 20s', wait);
}

/** What live reads share: where a stream goes on, and how long a long poll may wait. */
import { invalidArgument } from '@tidemark/core';
import { LAST_EVENT_ID_HEADER } from '@tidemark/wire';
import type { LiveQuery } from '@tidemark/wire/routes';
import { ANSWERED } from '../http/answer.ts';
import type { Subscription } from '../streams/event-stream.ts';
import type { Call } from './route.ts';

const LONGEST_WAIT_MS = 60_000;
/** What a stream takes besides its socket, and what each of its topics adds. */
const STREAM_BYTES = 8 * 1024;
const TOPIC_BYTES = 2 * 1024;
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000 };

/** Where a stream goes on: what the reader saw last wins over what it first asked for. */
export function lastEventIdOf({ request, query }: Call<LiveQuery>): string | undefined {
  return (request.headers[LAST_EVENT_ID_HEADER] as string | undefined) ?? query.lastEventId;
}

/** Answers with a live stream of some topics, within the limits of the caller, and reserved for its tenant until it ends. */
export function openStream(call: Call<unknown>, subscriptions: readonly Subscription[]): typeof ANSWERED {
  const { store, principal, response, services } = call;
  const memory = services.memory.lease(store.info.tenantId ?? null);
  memory.grow(STREAM_BYTES + TOPIC_BYTES * subscriptions.length);
  response.once('close', () => memory.release());
  services.callers?.admitTopics(principal, subscriptions.length, response);
  services.hub.stream(response, subscriptions);
  return ANSWERED;
}

/** Milliseconds of a wait; 0 when none was asked for. */
export function waitOf({ wait }: LiveQuery): number {
  if (wait === undefined) return 0;
  const parts = /^(\d{1,9})(ms|s|m)?$/.exec(wait);
  const ms = parts ? Number(parts[1]) * UNITS[parts[2] ?? 'ms']! : 0;
  if (ms >= 1 && ms <= LONGEST_WAIT_MS) return ms;
  throw invalidArgument('wait', 'a duration of at most 60 s, such as 20s', wait);
}

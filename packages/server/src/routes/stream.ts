/** Several live reads over one connection. */
import { invalidArgument } from '@tidemark/core';
import { decodePosition, idOfSegment } from '@tidemark/wire';
import { STREAM_ROUTES, TOPICS_RULE } from '@tidemark/wire/routes';
import { scopeMissing } from '../auth/admission.ts';
import { allows, type RouteScope } from '../auth/scopes.ts';
import type { TopicName } from '../streams/hub.ts';
import { feedTopic, kvTopic, runListTopic, runTopic, updatesTopic } from '../streams/topics.ts';
import { lastEventIdOf, openStream } from './live.ts';
import { bind, type Call } from './route.ts';

const MAX_TOPICS = 50;

/** The scopes that topics require, in addition to the scope of the stream itself. */
const SCOPES_OF: Readonly<Record<string, RouteScope>> = {
  runs: 'runs:read',
  events: 'runs:read',
  kv: 'kv:read',
  sessions: 'agents:read',
};

export const STREAM_HANDLERS = bind(STREAM_ROUTES, {
  'GET /v1/stream': (call) => {
    const { query, services } = call;
    const names = [...new Set(query.topics.split(','))];
    if (names.length > MAX_TOPICS) throw invalidArgument('topics', `at most ${MAX_TOPICS} topics`, names.length);
    const lastId = lastEventIdOf(call);
    const places = lastId === undefined ? new Map<string, string | null>() : decodePosition(lastId);
    const subscriptions = names.map((name) => ({
      name,
      topic: services.hub.topic(topicOf(call, name)),
      after: places.get(name) ?? null,
    }));
    return openStream(call, subscriptions);
  },
});

/** Refuses a topic if the caller lacks its scope, and ends the stream if the caller loses the scope later. */
function demandScope({ principal, hold }: Call, scope: RouteScope | undefined): void {
  if (scope === undefined) return;
  if (!allows(principal.scopes, scope)) throw scopeMissing(scope);
  hold?.scopes.push(scope);
}

function topicOf(call: Call, name: string): TopicName {
  const { store, services } = call;
  const [kind, segment, ...rest] = name.split('/');
  if (rest.length === 0) {
    demandScope(call, SCOPES_OF[kind!]);
    if (name === 'runs') return runListTopic(store);
    if (name === 'events') return feedTopic(store, {}, services.cursors);
    const id = segment === undefined ? undefined : idOfSegment(segment, 'topics');
    if (id !== undefined && kind === 'kv') return kvTopic(store, id);
    if (id && kind === 'runs') return runTopic(services.hub.hints, store, id, {});
    if (id && kind === 'sessions') return updatesTopic(store, id, undefined);
  }
  throw invalidArgument('topics', TOPICS_RULE, name);
}

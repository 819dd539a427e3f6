/** Several live reads over one connection, for pages that watch many things. */
import { invalidArgument } from '@tidemark/core';
import Type from 'typebox';
import { scopeMissing } from '../auth/admission.ts';
import { allows, type RouteScope } from '../auth/scopes.ts';
import { EVENT_STREAM } from '../http/answer.ts';
import { idOfSegment } from '../http/ids.ts';
import { parsePosition } from '../streams/event-stream.ts';
import type { TopicName } from '../streams/hub.ts';
import { feedTopic, kvTopic, runListTopic, runTopic, updatesTopic } from '../streams/topics.ts';
import { type LiveQuery, lastEventIdOf, openStream } from './live.ts';
import { type Call, route } from './route.ts';

const MOST_TOPICS = 50;
const RULE = 'runs, events, runs/{run}, kv/{prefix} or sessions/{session}, with ids encoded as in paths';

export const STREAM_ROUTES = [
  route<LiveQuery & { topics: string }>(
    {
      method: 'GET',
      path: '/v1/stream',
      scope: 'store:read',
      summary: 'Live: several topics over one connection, resumed after Last-Event-ID',
      query: Type.Object({
        topics: Type.String({ description: `Separated by commas: ${RULE}` }),
        lastEventId: Type.Optional(Type.String()),
      }),
      answers: { 200: null },
      gives: [EVENT_STREAM],
    },
    (call) => {
      const { query, services } = call;
      const names = [...new Set(query.topics.split(','))];
      if (names.length > MOST_TOPICS) throw invalidArgument('topics', `at most ${MOST_TOPICS} topics`, names.length);
      const lastId = lastEventIdOf(call);
      const places = lastId === undefined ? new Map<string, string | null>() : parsePosition(lastId);
      const subscriptions = names.map((name) => ({
        name,
        topic: services.hub.topic(topicOf(call, name)),
        after: places.get(name) ?? null,
      }));
      return openStream(call, subscriptions);
    },
  ),
];

/** What the topics of each kind need, besides what the stream itself needs. */
const SCOPES_OF: Readonly<Record<string, RouteScope>> = {
  runs: 'runs:read',
  events: 'runs:read',
  kv: 'kv:read',
  sessions: 'agents:read',
};

/** Refuses what the caller has no scope for, and ends the stream when the caller loses it. */
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
    if (id && kind === 'runs') return runTopic(services.hub.hints, store, id, undefined);
    if (id && kind === 'sessions') return updatesTopic(store, id, undefined);
  }
  throw invalidArgument('topics', RULE, name);
}

/** Events of all runs: append to many at once, and the feed. */
import type { FeedOptions } from '@tidemark/core';
import Type from 'typebox';
import { EVENT_STREAM, json, LINES } from '../http/answer.ts';
import { EMPTY_LIST } from '../schemas/common.ts';
import { AppendResult, FeedPage, RunEvent } from '../schemas/runs.ts';
import { feedTopic } from '../streams/topics.ts';
import { type AppendQuery, append } from './appending.ts';
import { LIVE_PARAMETERS, type LiveQuery, lastEventIdOf, openStream, waitOf } from './live.ts';
import { route, wants } from './route.ts';
import { APPEND_PARAMETERS, APPEND_PROBLEMS, TENANT_ID } from './run-parameters.ts';

interface FeedQuery extends LiveQuery {
  after?: string;
  limit?: number;
  tenantId?: string;
  eventType?: string[];
  unreadable?: 'skip';
}

export const FEED_ROUTES = [
  route<AppendQuery>(
    {
      method: 'POST',
      path: '/v1/events',
      scope: 'runs:write',
      summary: 'Append events to the runs they name: one, several, or one a line with a result for each',
      query: Type.Object(APPEND_PARAMETERS),
      body: Type.Union([RunEvent, Type.Array(RunEvent)]),
      storeChecksBody: true,
      reads: [LINES],
      answers: { 201: AppendResult, 200: Type.Union([AppendResult, Type.Object({ items: Type.Array(AppendResult) })]) },
      problems: APPEND_PROBLEMS,
    },
    (call) => append(call, (event) => event),
  ),
  route<FeedQuery>(
    {
      method: 'GET',
      path: '/v1/events',
      scope: 'runs:read',
      summary: 'Events of all runs in the order they were stored: a page, or live',
      query: Type.Object({
        ...TENANT_ID,
        ...LIVE_PARAMETERS,
        after: Type.Optional(Type.String({ description: 'The cursor of the last event seen' })),
        limit: Type.Optional(Type.Integer()),
        eventType: Type.Optional(Type.Array(Type.String(), { description: `Only these types. ${EMPTY_LIST}` })),
        unreadable: Type.Optional(
          Type.String({ description: 'skip: pass over events that cannot be decoded, instead of CODEC_FAILED' }),
        ),
      }),
      answers: { 200: FeedPage },
      gives: [EVENT_STREAM],
      problems: ['UNSUPPORTED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
    },
    async (call) => {
      const { store, query, hold, options, services } = call;
      const { after, limit, unreadable } = query;
      const filter = filterOf(query);
      const shown = unreadable === undefined ? { filter } : { filter, unreadable };
      if (!wants(call, EVENT_STREAM)) {
        const wait = waitOf(query);
        const waiting = wait > 0 ? { wait, ...(hold ? { signal: hold.signal } : {}) } : {};
        const cipher = await services.cursors.of(store.info.tenantId ?? null);
        const from = after === undefined ? undefined : cipher.show(after);
        const { items, next, held } = await store.runs.feedPage({
          ...options,
          after: from,
          limit,
          ...shown,
          ...waiting,
        });
        return json({
          items: items.map((item) => ({ ...item, cursor: cipher.hide(item.cursor) })),
          ...(next === undefined ? {} : { next: cipher.hide(next) }),
          ...(held === undefined ? {} : { held }),
        });
      }
      const topic = services.hub.topic(feedTopic(store, shown, services.cursors));
      const from = lastEventIdOf(call) ?? (after === undefined ? null : encodeURIComponent(after));
      return openStream(call, [{ topic, after: from }]);
    },
  ),
];

function filterOf({ tenantId, eventType }: FeedQuery): FeedOptions['filter'] {
  return {
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(eventType === undefined ? {} : { eventTypes: eventType }),
  };
}

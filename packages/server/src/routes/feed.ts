/** Events of all runs: appends to several runs at once, and the feed. */
import type { FeedOptions } from '@tidemark/core';
import { EVENT_STREAM } from '@tidemark/wire';
import { FEED_ROUTES } from '@tidemark/wire/routes';
import { json } from '../http/answer.ts';
import { feedTopic } from '../streams/topics.ts';
import { append } from './appending.ts';
import { lastEventIdOf, openStream, waitOf } from './live.ts';
import { bind, type CallOf, wants } from './route.ts';

export const FEED_HANDLERS = bind(FEED_ROUTES, {
  'POST /v1/events': (call) => append(call, (event) => event),
  'GET /v1/events': async (call) => {
    const { store, query, hold, options, services } = call;
    const { cursor, limit, unreadable, notices } = query;
    const filter = filterOf(query);
    const shown = { filter, notices: notices === true, ...(unreadable === undefined ? {} : { unreadable }) };
    if (!wants(call, EVENT_STREAM)) {
      const wait = waitOf(query);
      const waiting = wait > 0 ? { wait, ...(hold ? { signal: hold.signal } : {}) } : {};
      const cipher = await services.cursors.of(store.info.tenantId ?? null);
      const from = cursor === undefined ? undefined : cipher.show(cursor);
      const { items, next, held } = await store.runs.feedPage({
        ...options,
        cursor: from,
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
    const from = lastEventIdOf(call) ?? (cursor === undefined ? null : encodeURIComponent(cursor));
    return openStream(call, [{ topic, after: from }]);
  },
});

function filterOf({ tenantId, eventType }: CallOf<'GET /v1/events'>['query']): FeedOptions['filter'] {
  return {
    ...(tenantId === undefined ? {} : { tenantId }),
    ...(eventType === undefined ? {} : { eventTypes: eventType }),
  };
}

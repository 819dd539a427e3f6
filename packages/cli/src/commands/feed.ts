/** `feed`: shows the events of all runs as they are stored, from any cursor. */
import type { FeedItem, FeedOptions, RunStore } from '@tidemark/core';
import { at, inShort } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { follow } from '../follow.ts';
import { text, texts, toggle } from '../options.ts';
import type { Output, View } from '../output.ts';
import { limitOption } from '../pages.ts';

const ITEMS: View<FeedItem> = {
  columns: [
    { title: 'WHEN', of: ({ event }) => at(event.persistedAt), width: 8 },
    { title: 'TENANT', of: ({ event }) => event.tenantId, width: 10 },
    { title: 'RUN', of: ({ event }) => event.runId, width: 24 },
    { title: 'SEQ', of: ({ event }) => event.runSeq, width: 5 },
    { title: 'TYPE', of: ({ event }) => event.eventType, width: 16 },
    { title: 'STEP', of: ({ event }) => event.stepId, width: 14 },
    { title: 'PAYLOAD', of: ({ event }) => inShort(event.payload) },
  ],
  id: ({ cursor }) => cursor,
};

const feed = defineCommand({
  name: 'feed',
  summary: 'Show the events of all runs in the order they were stored',
  details: 'The events of one run are in order. Each line has a cursor; --cursor continues after it.',
  effect: 'ro',
  options: {
    follow: toggle('keep showing new events as they are stored', 'f'),
    cursor: text('cursor', 'only events after this cursor'),
    type: texts('type', 'only events of this type'),
    limit: limitOption,
  },
  examples: [
    { line: 'feed --type StepFailed', shows: 'CARD_DECLINED' },
    { line: 'feed --limit 2 -o table', shows: 'RunStarted' },
  ],
  async run(context) {
    const { store, out, options } = context;
    const { runs } = await store();
    const chosen = options.type.length > 0 ? { filter: { eventTypes: options.type } } : {};
    const since = (cursor: string | undefined) => (cursor === undefined ? chosen : { ...chosen, cursor });
    if (options.follow) {
      return follow(context, {
        from: (cursor, signal) => runs.feed({ ...since(cursor ?? options.cursor), signal }),
        cursorOf: ({ cursor }) => cursor,
        view: ITEMS,
        resumeWith: '--cursor',
      });
    }
    await out.list(storedSoFar(runs, since(options.cursor), options.limit, out), ITEMS, 'No events found.');
    return undefined;
  },
});

/** Yields the events stored so far, up to a limit. At the end of the feed, a page's `next` equals its cursor. */
async function* storedSoFar(
  runs: RunStore,
  options: FeedOptions,
  limit: number,
  out: Output,
): AsyncGenerator<FeedItem, void, undefined> {
  let left = limit;
  for (let cursor = options.cursor; ; ) {
    const { items, next } = await runs.feedPage({ ...options, ...(cursor === undefined ? {} : { cursor }) });
    yield* items.slice(0, left);
    left -= items.length;
    if (left < 0) return out.note(`There are more than ${limit}; use --limit to show more.`);
    if (next === undefined || next === cursor) return;
    cursor = next;
  }
}

export const feedCommands = [feed];

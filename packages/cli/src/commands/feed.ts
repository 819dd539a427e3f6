/** `feed`: shows the events of all runs as they are stored, from any cursor. */
import type { FeedItem, NoticeFeedOptions, NoticeItem, RunStore } from '@tidemark/core';
import { at, inShort } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { follow } from '../follow.ts';
import { text, texts, toggle } from '../options.ts';
import type { Output, View } from '../output.ts';
import { limitOption } from '../pages.ts';

type Item = FeedItem | NoticeItem;

/** A notice has no time, step or payload. Its kind is shown in capitals in place of an event type. */
const ITEMS: View<Item> = {
  columns: [
    { title: 'WHEN', of: (item) => ('event' in item ? at(item.event.persistedAt) : ''), width: 8 },
    { title: 'TENANT', of: (item) => subjectOf(item).tenantId, width: 10 },
    { title: 'RUN', of: (item) => subjectOf(item).runId, width: 24 },
    { title: 'SEQ', of: (item) => subjectOf(item).runSeq, width: 5 },
    {
      title: 'TYPE',
      of: (item) => ('event' in item ? item.event.eventType : item.notice.kind.toUpperCase()),
      width: 16,
    },
    { title: 'STEP', of: (item) => ('event' in item ? item.event.stepId : ''), width: 14 },
    { title: 'PAYLOAD', of: (item) => ('event' in item ? inShort(item.event.payload) : '') },
  ],
  id: ({ cursor }) => cursor,
};

function subjectOf(item: Item) {
  return 'event' in item ? item.event : item.notice;
}

const feed = defineCommand({
  name: 'feed',
  summary: 'Show the events of all runs in the order they were stored',
  details: 'The events of one run are in order. Each line has a cursor; --cursor continues after it.',
  effect: 'ro',
  options: {
    follow: toggle('keep showing new events as they are stored', 'f'),
    cursor: text('cursor', 'only events after this cursor'),
    type: texts('type', 'only events of this type'),
    notices: toggle('also show notices: runs deleted, archived, redacted, restored, quarantined or released'),
    limit: limitOption,
  },
  examples: [
    { line: 'feed --type StepFailed', shows: 'CARD_DECLINED' },
    { line: 'feed --limit 2 -o table', shows: 'RunStarted' },
    { line: 'feed --notices -o table', shows: 'ARCHIVED' },
  ],
  async run(context) {
    const { store, out, options } = context;
    const { runs } = await store();
    const filter = options.type.length > 0 ? { filter: { eventTypes: options.type } } : {};
    const chosen = { ...filter, notices: options.notices };
    const since = (cursor: string | undefined): NoticeFeedOptions =>
      cursor === undefined ? chosen : { ...chosen, cursor };
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
  options: NoticeFeedOptions,
  limit: number,
  out: Output,
): AsyncGenerator<Item, void, undefined> {
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

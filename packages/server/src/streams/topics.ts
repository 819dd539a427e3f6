/** The topics: events of a run, the feed, updates of a session, changes of records, changes in the list of runs. */

import {
  type FeedItem,
  invalidArgument,
  type NoticeFeedOptions,
  type NoticeItem,
  type RunSummary,
  type Store,
} from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { LIFE_MEMBER } from '@tidemark/wire';
import type { CursorCipher, FeedCursors } from '../hiding/feed-cursors.ts';
import { changeToWire } from '../http/record-values.ts';
import type { TopicName } from './hub.ts';
import { PageSize } from './page-size.ts';
import { Ring } from './ring.ts';
import type { RunHints } from './run-hints.ts';
import type { StreamSource } from './source.ts';

const LIST_PAUSE_MS = 1_000;

/** Returns the key of a topic. A topic belongs to the tenant of its view. */
function keyOf(store: Store, ...parts: unknown[]): string {
  return JSON.stringify([tenantOf(store), ...parts]);
}

function tenantOf(store: Store): string | null {
  return store.info.tenantId ?? null;
}

/** A topic of the events of one run, or of one life of a run. Its cursors are sequences. */
export function runTopic(
  hints: RunHints,
  store: Store,
  runId: string,
  { tenantId, life }: { tenantId?: string | undefined; life?: number | undefined },
): TopicName {
  const { runs } = store;
  const size = new PageSize();
  let owner = tenantId ?? store.info.tenantId;
  const keyOfRun = () => (owner === undefined ? null : { tenantId: owner, runId });
  return {
    tenantId: tenantOf(store),
    key: keyOf(store, 'run', tenantId, runId, life),
    open: () => ({
      async read(after) {
        const events = await runs.fetchEvents(runId, { tenantId, life, afterSeq: seqOf(after), limit: size.items });
        owner ??= events[0]?.tenantId;
        const items = events.map((it) => ({ cursor: String(it.runSeq), event: 'run.event', data: JSON.stringify(it) }));
        size.learn(items);
        return { items, cursor: items.at(-1)?.cursor ?? after };
      },
      follow: (after, signal) =>
        hints.areAvailable
          ? hints.follow(keyOfRun, signal)
          : runs.tail(runId, { tenantId, life, afterSeq: seqOf(after), signal }),
    }),
  };
}

function seqOf(cursor: string | null): number {
  if (cursor === null) return 0;
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw invalidArgument('Last-Event-ID', 'the sequence of an event', cursor);
}

/** Decodes the cursor in the id of an event stream. */
function decoded(cursor: string): string {
  try {
    return decodeURIComponent(cursor);
  } catch {
    throw invalidArgument('Last-Event-ID', 'the id of an event of this stream', cursor);
  }
}

/**
 * A topic of the events of all runs. Its cursors are feed cursors in the form that the tenant may see, encoded to fit
 * in one line.
 */
export function feedTopic(
  store: Store,
  shown: Partial<Pick<NoticeFeedOptions, 'filter' | 'unreadable' | 'notices'>>,
  cursors: FeedCursors,
): TopicName {
  const { runs } = store;
  const size = new PageSize();
  const tenantId = tenantOf(store);
  const from = (cipher: CursorCipher, after: string | null) =>
    after === null ? shown : { ...shown, cursor: cipher.show(decoded(after)) };
  return {
    tenantId,
    key: keyOf(store, 'feed', shown),
    open: () => ({
      async read(after) {
        const cipher = await cursors.of(tenantId);
        const idOf = (cursor: string) => encodeURIComponent(cipher.hide(cursor));
        for (let at = after; ; ) {
          const page = await runs.feedPage({ ...from(cipher, at), limit: size.items });
          const items = page.items.map((item) => ({ cursor: idOf(item.cursor), ...streamed(item) }));
          size.learn(items);
          const next = page.next === undefined ? at : idOf(page.next);
          // If the filter dropped all events of a page, there may be more pages.
          if (items.length > 0 || next === at) return { items, cursor: next };
          at = next;
        }
      },
      async *follow(after, signal) {
        const cipher = await cursors.of(tenantId);
        yield* runs.feed({ ...from(cipher, after), signal });
      },
    }),
  };
}

/** Returns the type and data of an item of the feed in an event stream. */
function streamed(item: FeedItem | NoticeItem): { event: string; data: string } {
  if ('notice' in item) return { event: 'run.notice', data: JSON.stringify(item.notice) };
  const { event, life, released } = item;
  const data = JSON.stringify(life === undefined ? event : { ...event, [LIFE_MEMBER]: life });
  return { event: released ? 'run.released' : 'run.event', data };
}

/**
 * A topic of the updates of a session, either of all its tasks or of a single task. Its cursors are encoded ids of
 * updates.
 */
export function updatesTopic(store: Store, sessionId: string, taskId: string | undefined): TopicName {
  const { agents } = store;
  const size = new PageSize();
  const from = (after: string | null) => ({
    taskId,
    ...(after === null ? {} : { sinceId: decoded(after) }),
  });
  return {
    tenantId: tenantOf(store),
    key: keyOf(store, 'updates', sessionId, taskId),
    open: () => ({
      async read(after) {
        const updates = await agents.listUpdates(sessionId, { ...from(after), limit: size.items });
        const items = updates.map((it) => ({
          cursor: encodeURIComponent(it.updateId),
          event: 'session.update',
          data: JSON.stringify(it),
        }));
        size.learn(items);
        return { items, cursor: items.at(-1)?.cursor ?? after };
      },
      follow: (after, signal) => agents.tailUpdates(sessionId, { ...from(after), signal }),
    }),
  };
}

/** A topic of changes of records under a prefix, from the first subscription on. */
export function kvTopic(store: Store, prefix: string): TopicName {
  const changes = (signal: AbortSignal) => store.kv.watch(prefix, { signal });
  return {
    tenantId: tenantOf(store),
    key: keyOf(store, 'kv', prefix),
    open: () => fromNowOn('kv.change', changes, changeToWire),
  };
}

/**
 * A topic of runs that are new or have new events, from the first subscription on. Several events in quick succession
 * are reported as one change.
 */
export function runListTopic(store: Store): TopicName {
  const changed = (signal: AbortSignal) => changedRuns(store, signal);
  return {
    tenantId: tenantOf(store),
    key: keyOf(store, 'runs'),
    open: () => fromNowOn('run.changed', changed, (it) => it),
  };
}

/** Returns a source without history. Items are kept for a while after they were received. */
function fromNowOn<T>(
  event: string,
  listen: (signal: AbortSignal) => AsyncIterable<T>,
  toWire: (item: T) => unknown,
): StreamSource {
  const ring = new Ring();
  return {
    followsAtOnce: true,
    read: async (after) => ring.read(after),
    async *follow(_, signal) {
      for await (const item of listen(signal)) {
        ring.push(event, JSON.stringify(toWire(item)));
        yield;
      }
    },
  };
}

async function* changedRuns(store: Store, signal: AbortSignal): AsyncGenerator<RunSummary> {
  let since = new Date().toISOString();
  let reported = new Map<string, number>();
  while (!signal.aborted) {
    const found = new Map<string, number>();
    const updatedAfter = since;
    for (let cursor: string | undefined; ; ) {
      const page = await store.runs.listRuns({ updatedAfter, limit: 1_000, ...(cursor ? { cursor } : {}) });
      for (const run of page.items) {
        const key = JSON.stringify([run.tenantId, run.runId]);
        found.set(key, run.lastEventSeq);
        if (reported.get(key) !== run.lastEventSeq) yield run;
        if (run.updatedAt > since) since = run.updatedAt;
      }
      if (page.next === undefined) break;
      cursor = page.next;
    }
    reported = found;
    await sleep(LIST_PAUSE_MS, signal);
  }
}

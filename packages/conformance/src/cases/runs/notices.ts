/**
 * Notices of the feed: readers that ask for them learn what happens to runs and to stored events, in order with the
 * events, and other readers see no difference (RUN-22).
 */
import type { FeedItem, NoticeItem, Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { appendNumbered, runEvent } from './events.ts';
import { feedMark, limitOfPage, pagedFeed } from './feed-pages.ts';
import { damagedView } from './quarantine.ts';

const ORDER = { by: 'dpo@example.org', reason: 'request 4711' };
const LATE_ITEM_WAIT_MS = 2_000;
const MAX_WAITS = 3;

type Item = FeedItem | NoticeItem;

/** Reads events and notices until the last of them satisfies `isLast`, then to the end. */
async function readUntil(
  store: Store,
  cursor: string,
  isLast: (item: Item) => boolean,
  limit?: number,
): Promise<{ items: Item[]; next: string }> {
  const items: Item[] = [];
  let next = cursor;
  for (let [pages, waits] = [1, 0]; ; pages++) {
    const isComplete = items.some(isLast);
    const wait = isComplete ? {} : { wait: LATE_ITEM_WAIT_MS };
    const page = await store.runs.feedPage({ cursor: next, notices: true, ...limitOfPage(pages, limit), ...wait });
    items.push(...page.items);
    if (page.next === next && (isComplete || ++waits === MAX_WAITS)) return { items, next };
    next = page.next ?? next;
  }
}

const isNotice = (kind: string, runId: string) => (item: Item) =>
  'notice' in item && item.notice.kind === kind && item.notice.runId === runId;

const isEvent = (runId: string, runSeq: number) => (item: Item) =>
  'event' in item && item.event.runId === runId && item.event.runSeq === runSeq;

/**
 * Describes the items of a run, such as `2` for its second event and `redacted 2` for a notice. Omits the repetition of
 * a notice directly after it, and events before sequence 1 of a run that starts again.
 */
function storyOf(items: readonly Item[], runId: string): string[] {
  const told = items.flatMap((item) => {
    if ('event' in item) return item.event.runId === runId ? [String(item.event.runSeq)] : [];
    const { kind, runSeq } = item.notice;
    return item.notice.runId === runId ? [runSeq === undefined ? kind : `${kind} ${runSeq}`] : [];
  });
  return told.filter((it, at) => it !== told[at - 1]);
}

const kindsOf = (items: readonly Item[], runId: string) => storyOf(items, runId).filter((it) => /^[a-z]/.test(it));

/** Archives a run and returns what restores it. */
async function archived({ runs }: Store, runId: string) {
  const parts = await all(runs.exportRun(runId));
  const { lastEventSeq } = parts[0]!.run;
  await runs.archiveRun(runId, { location: 'somewhere', expectedSeq: lastEventSeq });
  return parts;
}

function noticeCase(body: Pick<ConformanceCase, 'id' | 'title' | 'run'> & { proves?: readonly string[] }) {
  const { proves = [], ...rest } = body;
  const needs = ['runs.feed', 'runs.notices', 'runs.redaction'] as const;
  return runsCase({ ...rest, proves: ['RUN-22', ...proves], needs });
}

export const NOTICE_CASES: readonly ConformanceCase[] = [
  noticeCase({
    id: 'runs/notices-follow-what-they-concern',
    title:
      'a notice follows the events it concerns, and `restored` precedes the events that pass through the feed again',
    async run(bench) {
      const { tenant } = bench;
      const runId = bench.id('run');
      let cursor = await feedMark(bench);
      const story: string[] = [];
      const follow = async (isLast: (item: Item) => boolean) => {
        const { items, next } = await readUntil(tenant, cursor, isLast);
        story.push(...storyOf(items, runId));
        cursor = next;
        return items;
      };
      await appendNumbered(bench, runId, 2);
      await follow(isEvent(runId, 2));
      const parts = await archived(tenant, runId);
      await follow(isNotice('archived', runId));
      await tenant.runs.restoreRun(parts);
      await follow(isEvent(runId, 2));
      await appendNumbered(bench, runId, 1, 3);
      await tenant.runs.deleteRun(runId);
      const last = (await follow(isNotice('deleted', runId))).find(isNotice('deleted', runId));
      const expected = ['1', '2', 'archived', 'restored', '1', '2', 'deleted'];
      expectEqual(story, expected, 'the reader sees the whole story in order');
      const { kind, ...run } = last && 'notice' in last ? last.notice : { kind: 'missing' };
      expectEqual(
        [kind, run],
        ['deleted', { tenantId: bench.tenantId, runId, life: 1 }],
        'a notice names run and life',
      );
    },
  }),
  noticeCase({
    id: 'runs/notices-name-the-life',
    title: 'notices of a run that began again name its current life',
    proves: ['RUN-18'],
    async run(bench) {
      const { tenant } = bench;
      const runId = bench.id('run');
      const cursor = await feedMark(bench);
      await appendNumbered(bench, runId, 1);
      await tenant.runs.deleteRun(runId);
      await tenant.runs.appendEvent(runEvent(bench, { runId }), { life: 'new' });
      await tenant.runs.redactEvent(runId, 1, ORDER);
      const parts = await archived(tenant, runId);
      await tenant.runs.restoreRun(parts);
      await tenant.runs.deleteRun(runId, { life: 2 });
      const isLast = (item: Item) => isNotice('deleted', runId)(item) && 'notice' in item && item.notice.life === 2;
      const { items } = await readUntil(tenant, cursor, isLast);
      const lives = items.flatMap((item) =>
        'notice' in item && item.notice.runId === runId ? [`${item.notice.kind} ${item.notice.life}`] : [],
      );
      // The notices of an earlier removal may be replaced by later changes.
      const first = lives.filter((it) => it.endsWith(' 1') && it !== 'deleted 1');
      expectEqual(first, [], 'only the first removal names life 1');
      expectEqual(lives.includes('redacted 2'), true, 'the redaction names life 2');
      expectEqual(lives.at(-1), 'deleted 2', 'the last removal names life 2');
    },
  }),
  noticeCase({
    id: 'runs/notices-are-kept-for-slow-readers',
    title:
      'a reader that is behind receives the notices of every redaction and of the last removal, even of removed runs',
    async run(bench) {
      const { tenant } = bench;
      const [runId, other] = [bench.id('run'), bench.id('run')];
      const after = await feedMark(bench);
      await appendNumbered(bench, runId, 3);
      await tenant.runs.redactEvent(runId, 1, ORDER);
      await tenant.runs.redactEvent(runId, 3, ORDER);
      const parts = await archived(tenant, runId);
      await tenant.runs.restoreRun(parts);
      await tenant.runs.redactEvent(runId, 2, ORDER);
      await tenant.runs.deleteRun(runId);
      await appendNumbered(bench, other, 1);
      await tenant.runs.deleteRun(other);
      const { items } = await readUntil(tenant, after, isNotice('deleted', other));
      const kinds = kindsOf(items, runId);
      const needed = ['redacted 1', 'redacted 3', 'redacted 2', 'deleted'];
      for (const kind of needed) expect(kinds.includes(kind), `the reader learns of: ${kind}`);
      // A later change may replace the notices of an earlier removal and its restore.
      const inOrder = ['redacted 1', 'redacted 3', 'archived', 'restored', 'redacted 2', 'deleted'];
      const expected = inOrder.filter((kind) => kinds.includes(kind));
      expectEqual(kinds.at(-1), 'deleted', 'the removal comes last');
      const firsts = expected.map((kind) => kinds.indexOf(kind));
      expectEqual(
        firsts,
        [...firsts].sort((a, b) => a - b),
        'the notices are in the order of the changes',
      );
      expectEqual(storyOf(items, runId).at(-1), 'deleted', 'no event of a removed run follows its removal');
    },
  }),
  noticeCase({
    id: 'runs/notices-only-when-asked-for',
    title: 'a reader that does not ask gets events only, and cursors of both forms continue each other',
    async run(bench) {
      const { tenant } = bench;
      const [gone, kept] = [bench.id('run'), bench.id('run')];
      const after = await feedMark(bench);
      await appendNumbered(bench, gone, 1);
      await appendNumbered(bench, kept, 2);
      await tenant.runs.redactEvent(kept, 1, ORDER);
      await tenant.runs.deleteRun(gone);
      await appendNumbered(bench, kept, 1, 3);
      const { items } = await readUntil(tenant, after, isEvent(kept, 3));
      const plain = await pagedFeed(tenant, 3, { cursor: after });
      expect(
        plain.every((item) => 'event' in item && !('notice' in item)),
        'a reader that does not ask gets events only',
      );
      const seqs = (found: readonly Item[]) =>
        new Set(found.flatMap((item) => ('event' in item && item.event.runId === kept ? [item.event.runSeq] : [])));
      expectEqual([...seqs(plain)].sort(), [1, 2, 3], 'the reader gets every event');
      // Cursors may differ: on several servers they contain positions of servers without these runs.
      const byOne = await readUntil(tenant, after, isEvent(kept, 3), 1);
      const withoutCursors = (found: readonly Item[]) => found.map(({ cursor: _, ...item }) => item);
      expectEqual(withoutCursors(byOne.items), withoutCursors(items), 'small pages have the same items');
      for (const read of [items, byOne.items])
        for (const [at, { cursor }] of read.entries()) {
          const rest = new Set([...seqs(read.slice(0, at + 1)), ...seqs(await pagedFeed(tenant, 0, { cursor }))]);
          expectEqual([...rest].sort(), [1, 2, 3], 'a reader of events continues after any item');
        }
      const middle = plain.find(isEvent(kept, 1))!.cursor;
      const { items: later } = await readUntil(tenant, middle, isEvent(kept, 3));
      expect(later.some(isNotice('deleted', gone)), 'a reader of notices continues after any event');
      await expectCode('INVALID_ARGUMENT', '`notices` is a boolean', () =>
        tenant.runs.feedPage({ notices: 'yes' as never }),
      );
    },
  }),
  noticeCase({
    id: 'runs/notices-only-of-what-happened',
    title: 'a rejected or repeated change has no notice',
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const after = await feedMark(bench);
      await appendNumbered(bench, runId, 2);
      await expectCode('SEQ_CONFLICT', 'the fence refuses', () => runs.deleteRun(runId, { expectedSeq: 1 }));
      await expectCode('SEQ_CONFLICT', 'the fence refuses', () =>
        runs.archiveRun(runId, { location: 'somewhere', expectedSeq: 1 }),
      );
      await runs.redactEvent(runId, 7, ORDER);
      await runs.redactEvent(runId, 2, ORDER);
      await runs.redactEvent(runId, 2, ORDER);
      await runs.restoreRun(await all(runs.exportRun(runId)));
      const { items: before, next } = await readUntil(bench.tenant, after, isNotice('redacted', runId));
      expectEqual(kindsOf(before, runId), ['redacted 2'], 'only the redaction happened');
      await runs.deleteRun(runId);
      await runs.deleteRun(runId);
      await runs.deleteRun(bench.id('run'));
      await expectCode('RUN_DELETED', 'nothing is appended', () => runs.appendEvent(runEvent(bench, { runId })));
      const { items } = await readUntil(bench.tenant, next, isNotice('deleted', runId));
      const removals = items.filter((item) => 'notice' in item && item.notice.kind === 'deleted');
      expectEqual(removals.length, 1, 'the run was removed once');
    },
  }),
  noticeCase({
    id: 'runs/notices-stay-within-the-tenant',
    title: 'a tenant receives no notices of others, and the operator receives all or those of one tenant',
    proves: ['GEN-10'],
    async run(bench) {
      const after = await feedMark(bench);
      const other = { ...bench, tenantId: bench.id('tenant') };
      const foreign: Bench = { ...other, tenant: bench.store.forTenant(other.tenantId) };
      const [theirs, ours] = [bench.id('run'), bench.id('run')];
      await appendNumbered(foreign, theirs, 1);
      await foreign.tenant.runs.deleteRun(theirs);
      await appendNumbered(bench, ours, 1);
      await bench.tenant.runs.deleteRun(ours);
      const { items } = await readUntil(bench.tenant, after, isNotice('deleted', ours));
      expectEqual(kindsOf(items, theirs), [], 'the tenant sees no notice of another tenant');
      const whole = await readUntil(bench.store, after, isNotice('deleted', ours));
      expectEqual(kindsOf(whole.items, theirs), ['deleted'], 'the operator sees the notices of all tenants');
      const { items: chosen } = await bench.store.runs.feedPage({
        cursor: after,
        notices: true,
        filter: { tenantId: other.tenantId },
        limit: 10_000,
      });
      expectEqual([kindsOf(chosen, ours), kindsOf(chosen, theirs)], [[], ['deleted']], 'the filter selects a tenant');
    },
  }),
  noticeCase({
    id: 'runs/notices-arrive-live',
    title: 'a live reader receives events and notices as they are stored',
    async run(bench) {
      const { tenant } = bench;
      const runId = bench.id('run');
      const stop = new AbortController();
      const feed = tenant.runs.feed({ cursor: await feedMark(bench), notices: true, signal: stop.signal });
      const seen: Item[] = [];
      const reading = (async () => {
        for await (const item of feed) {
          seen.push(item);
          if (isNotice('deleted', runId)(item)) return;
        }
      })();
      await appendNumbered(bench, runId, 1);
      await tenant.runs.deleteRun(runId);
      await reading.finally(() => stop.abort());
      expectEqual(kindsOf(seen, runId), ['deleted'], 'the notice arrives');
    },
  }),
  noticeCase({
    id: 'runs/notices-of-quarantines',
    title: 'a reader learns that a run is quarantined and, before its events follow, that it is released',
    proves: ['RUN-20'],
    async run(bench) {
      const runId = bench.id('sick');
      const after = await feedMark(bench);
      await appendNumbered(bench, runId, 3);
      const { view, repair } = damagedView(bench, runId, 2);
      if (!view) return;
      const before = await readUntil(view, after, isNotice('quarantined', runId));
      expectEqual(storyOf(before.items, runId), ['1', 'quarantined 2'], 'the reader learns what the feed skips');
      repair();
      await view.runs.releaseRun(runId);
      const later = await readUntil(view, before.next, isEvent(runId, 3));
      expectEqual(storyOf(later.items, runId), ['released 2', '2', '3'], 'the release precedes the events');
      const slow = await readUntil(view, after, isEvent(runId, 3));
      const kinds = kindsOf(slow.items, runId);
      expectEqual(kinds, ['quarantined 2', 'released 2'], 'a slow reader learns of both');
    },
  }),
];

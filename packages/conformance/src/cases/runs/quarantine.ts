/**
 * Damage in one run: everything else continues, the damage is recorded, and after a repair nothing is missing (RUN-20).
 * The cases use an engine that returns one event in damaged form. On stores without such an engine they pass.
 */
import type { FeedItem, HeldRun, Store } from '@tidemark/core';
import { isDamaged, isNotice, type RunEngine, type RunKey, type StoredRunEvent } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendNumbered } from './events.ts';
import { feedMark, limitOfPage } from './feed-pages.ts';

/** How long a page waits for late events, in milliseconds. */
const LATE_EVENT_WAIT_MS = 2_000;

/** Returns the tenant's view of a store in which one event is damaged until it is repaired. */
export function damagedView(bench: Bench, runId: string, runSeq: number): { view: Store | null; repair: () => void } {
  let isDamagedNow = true;
  const read = (run: RunKey, event: StoredRunEvent): StoredRunEvent => {
    const isIt = isDamagedNow && run.runId === runId && event.runSeq === runSeq;
    return isIt ? { ...event, payload: '{"n":"changed"}' } : event;
  };
  const view = bench.withRuns((engine: RunEngine) => ({
    async fetch(run, afterSeq, limit, call) {
      const page = await engine.fetch(run, afterSeq, limit, call);
      const seen = (events: StoredRunEvent[]) => events.map((event) => read(run, event));
      return { ...page, events: seen(page.events), lead: seen(page.lead) };
    },
    async feed(...args) {
      const entries = await engine.feed(...args);
      return entries.map((entry) =>
        isDamaged(entry) || isNotice(entry) ? entry : { ...entry, event: read(entry.run, entry.event) },
      );
    },
  }));
  return { view, repair: () => (isDamagedNow = false) };
}

interface ReadFeed {
  items: FeedItem[];
  held: HeldRun[];
  next: string;
}

/** Reads until `count` items of the runs arrived, then to the end. */
async function readFeed(store: Store, after: string, runIds: readonly string[], count: number): Promise<ReadFeed> {
  const items: FeedItem[] = [];
  const held: HeldRun[] = [];
  let next = after;
  for (let [pages, waits] = [1, 0]; ; pages++) {
    const wait = items.length < count && waits < 3 ? { wait: LATE_EVENT_WAIT_MS } : {};
    const page = await store.runs.feedPage({ cursor: next, ...limitOfPage(pages, 3), ...wait });
    items.push(...page.items.filter((item) => runIds.includes(item.event.runId)));
    held.push(...(page.held ?? []));
    if (page.next === next && (items.length >= count || ++waits === 3)) return { items, held, next };
    next = page.next ?? next;
  }
}

const seqsOf = (items: readonly FeedItem[], runId: string) =>
  items.filter((item) => item.event.runId === runId).map((item) => item.event.runSeq);

/** Appends a damaged run and a healthy one, for a reader that started before them. */
async function damagedPair(bench: Bench) {
  const [sick, well] = [bench.id('sick'), bench.id('well')];
  const after = await feedMark(bench);
  for (let n = 1; n <= 5; n++) {
    await appendNumbered(bench, sick, 1, n);
    await appendNumbered(bench, well, 1, n);
  }
  return { sick, well, after, ...damagedView(bench, sick, 3) };
}

type DamagedPair = Awaited<ReturnType<typeof damagedPair>>;

/** The pair after reading the feed, when the damaged run is quarantined. */
interface Quarantined extends DamagedPair {
  view: NonNullable<DamagedPair['view']>;
  read: Awaited<ReturnType<typeof readFeed>>;
}

/** Defines a case that starts with a quarantined run. It passes on a store that cannot be damaged. */
function quarantineCase(
  { id, title, proves }: Pick<ConformanceCase, 'id' | 'title' | 'proves'>,
  check: (found: Quarantined, bench: Bench) => Promise<void>,
): ConformanceCase {
  return runsCase({
    id,
    title,
    proves,
    needs: ['runs.feed'],
    async run(bench) {
      const pair = await damagedPair(bench);
      const { sick, well, after, view } = pair;
      if (view) await check({ ...pair, view, read: await readFeed(view, after, [sick, well], 7) }, bench);
    },
  });
}

export const QUARANTINE_CASES: readonly ConformanceCase[] = [
  quarantineCase(
    {
      id: 'runs/damage-stays-in-its-run',
      title: 'one damaged event stops only its own run: the feed skips the rest of that run and reports it',
      proves: ['RUN-20'],
    },
    async ({ sick, well, view, read }) => {
      const { items, held } = read;
      expectEqual(seqsOf(items, well), [1, 2, 3, 4, 5], 'the other run is complete');
      expectEqual(seqsOf(items, sick), [1, 2], 'the damaged run is yielded up to the damage');
      const first = held.find(({ runId }) => runId === sick);
      expectEqual(first?.runSeq, 3, 'the page names the skipped run and its first skipped sequence');
      await expectCode('CORRUPT_EVENT', 'a direct read of the damage fails', () => view.runs.fetchEvents(sick));
      expectEqual((await view.runs.fetchEvents(sick, { limit: 2 })).length, 2, 'events before the damage can be read');
    },
  ),
  quarantineCase(
    {
      id: 'runs/damage-is-noted',
      title: 'the feed skips an event only while the run’s quarantine is stored durably',
      proves: ['RUN-20'],
    },
    async ({ sick, well, after }, bench) => {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const { items } = await peer.runs.listQuarantined();
      const entry = items.find(({ runId }) => runId === sick);
      expectEqual([entry?.fromSeq, entry?.state], [3, 'quarantined'], 'another process sees the entry');
      const other = await readFeed(peer, after, [sick, well], 7);
      expectEqual(seqsOf(other.items, sick), [1, 2], 'another process skips the run as well');
      expectEqual(
        other.held.find(({ runId }) => runId === sick)?.runSeq,
        3,
        'another process reports the first skipped sequence',
      );
    },
  ),
  quarantineCase(
    {
      id: 'runs/release-gives-everything-again',
      title: 'after a release the feed yields the skipped events and those appended in the meantime, in order',
      proves: ['RUN-20'],
    },
    async ({ sick, view, repair, read }, bench) => {
      const { next } = read;
      await appendNumbered(bench, sick, 1, 6);
      repair();
      const { state, release } = await view.runs.releaseRun(sick);
      expect(state === 'released' && release > 0, 'a repaired run is released with a number');
      await appendNumbered(bench, sick, 1, 7);
      const { items } = await readFeed(view, next, [sick], 5);
      const released = items.filter((item) => item.released);
      expectEqual(seqsOf(released, sick), [3, 4, 5, 6, 7], 'each event once, in order, up to the last');
      const middle = released[1]!.cursor;
      const rest = await readFeed(view, middle, [sick], 3);
      expectEqual(
        seqsOf(
          rest.items.filter((item) => item.released),
          sick,
        ),
        [5, 6, 7],
        'the feed resumes from any of their cursors',
      );
    },
  ),
  quarantineCase(
    {
      id: 'runs/release-verifies',
      title: 'a run that is still damaged is not released',
      proves: ['RUN-20'],
    },
    async ({ sick, well, view }) => {
      await expectCode('CORRUPT_EVENT', 'the damage is still there', () => view.runs.releaseRun(sick));
      const { items } = await view.runs.listQuarantined();
      expectEqual(items.find(({ runId }) => runId === sick)?.state, 'quarantined', 'the run stays quarantined');
      await expectCode('NOT_FOUND', 'a run that was never quarantined cannot be released', () =>
        view.runs.releaseRun(well),
      );
    },
  ),
  quarantineCase(
    {
      id: 'runs/quarantine-is-the-tenants-own',
      title: 'a tenant does not see quarantined runs of other tenants',
      proves: ['RUN-20', 'GEN-10'],
    },
    async ({ sick }, bench) => {
      const other = bench.store.forTenant(bench.id('tenant'));
      expectEqual(await other.runs.listQuarantined({ state: 'any' }), { items: [] }, 'another tenant sees none');
      const operators = await bench.store.runs.listQuarantined({ tenantId: bench.tenantId });
      expectEqual(
        operators.items.map(({ runId }) => runId),
        [sick],
        'the operator lists them by tenant',
      );
    },
  ),
  quarantineCase(
    {
      id: 'runs/release-stays-within-the-tenant',
      title: 'the feed of a tenant does not yield released events of other tenants',
      proves: ['RUN-20', 'GEN-10'],
    },
    async ({ sick, after, view, repair, read }, bench) => {
      const other = bench.store.forTenant(bench.id('tenant'));
      const { next } = await readFeed(other, after, [], 0);
      repair();
      await view.runs.releaseRun(sick);
      const released = await readFeed(view, read.next, [sick], 3);
      expectEqual(seqsOf(released.items, sick), [3, 4, 5], 'the tenant of the run reads the released events');
      const others = await readFeed(other, next, [sick], 0);
      expectEqual(seqsOf(others.items, sick), [], 'another tenant reads none of them');
    },
  ),
  quarantineCase(
    {
      id: 'runs/deleting-ends-a-quarantine',
      title: 'deleting a run ends its quarantine',
      proves: ['RUN-20', 'RUN-15'],
    },
    async ({ sick, view }) => {
      await view.runs.deleteRun(sick);
      expectEqual(await view.runs.listQuarantined({ state: 'any' }), { items: [] }, 'the quarantine entry is gone');
    },
  ),
];

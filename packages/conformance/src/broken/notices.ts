/** Broken notices: lost, invented, out of order, or shown to readers that must not see them. */
import type { FeedItem, FeedOptions, NoticeItem, RunStore } from '@tidemark/core';
import { type BrokenStore, broken, type Overrides } from './wrap.ts';

type Item = FeedItem | NoticeItem;

/** Changes the items of every page and of the live feed, for readers that ask for notices. */
function changingItems(change: (items: readonly Item[]) => Item[]): (runs: RunStore) => Partial<RunStore> {
  const asked = (options: FeedOptions | undefined) => (options as { notices?: boolean } | undefined)?.notices === true;
  return (runs) => ({
    async feedPage(options?: FeedOptions) {
      const page = await runs.feedPage(options);
      return asked(options) ? { ...page, items: change(page.items) as FeedItem[] } : page;
    },
    async *feed(options?: FeedOptions) {
      for await (const item of runs.feed(options)) yield* (asked(options) ? change([item]) : [item]) as FeedItem[];
    },
  });
}

const withoutKinds = (...kinds: string[]): Overrides => ({
  runs: changingItems((items) => items.filter((item) => 'event' in item || !kinds.includes(item.notice.kind))),
});

const noticesLast = (items: readonly Item[]) => [
  ...items.filter((item) => 'event' in item),
  ...items.filter((item) => 'notice' in item),
];

export const BROKEN_NOTICES: readonly BrokenStore[] = [
  broken(
    'restores-in-silence',
    'sends no notice of a restore',
    'runs/notices-follow-what-they-concern',
    withoutKinds('restored'),
  ),
  broken(
    'notices-after-everything',
    'returns the notices of a page after its events',
    'runs/notices-follow-what-they-concern',
    { runs: changingItems(noticesLast) },
  ),
  broken('notices-of-one-life', 'names life 1 in every notice', 'runs/notices-name-the-life', {
    runs: changingItems((items) =>
      items.map((item) => ('notice' in item ? { ...item, notice: { ...item.notice, life: 1 } } : item)),
    ),
  }),
  broken(
    'notices-of-what-is-left',
    'drops the redaction notices of runs that were removed since',
    'runs/notices-are-kept-for-slow-readers',
    {
      runs: changingItems((items) => {
        const gone = items.flatMap((item) => ('notice' in item && item.notice.kind === 'deleted' ? [item] : []));
        const isGone = ({ notice }: NoticeItem) => gone.some((it) => it.notice.runId === notice.runId);
        return items.filter((item) => 'event' in item || item.notice.kind !== 'redacted' || !isGone(item));
      }),
    },
  ),
  broken('notices-for-everybody', 'sends notices to every reader', 'runs/notices-only-when-asked-for', {
    runs: (runs) => ({
      feedPage: async (options?: FeedOptions) =>
        runs.feedPage({ notices: true, ...options }) as ReturnType<RunStore['feedPage']>,
    }),
  }),
  broken(
    'notices-of-attempts',
    'sends a notice for every call of deleteRun',
    'runs/notices-only-of-what-happened',
    () => {
      const extra: Item[] = [];
      return {
        runs: (runs, whole) => ({
          async deleteRun(runId, options) {
            const done = await runs.deleteRun(runId, options);
            const notice = { kind: 'deleted' as const, tenantId: 'any', runId, life: 1 };
            if (!done) extra.push({ cursor: (await whole.runs.feedPage({ limit: 1 })).next!, notice });
            return done;
          },
          ...changingItems((items) => [...items, ...extra.splice(0)])(runs),
        }),
      };
    },
  ),
  broken('notices-in-public', 'sends notices of all tenants to every tenant', 'runs/notices-stay-within-the-tenant', {
    runs: (runs, whole) => ({
      async feedPage(options?: FeedOptions) {
        const page = await runs.feedPage(options);
        if ((options as { notices?: boolean } | undefined)?.notices !== true) return page;
        const all = await whole.runs.feedPage({ ...options, notices: true });
        const foreign = all.items.filter(
          (item) => 'notice' in item && !page.items.some(({ cursor }) => cursor === item.cursor),
        );
        return { ...page, items: [...foreign, ...page.items] as FeedItem[] };
      },
    }),
  }),
  broken('live-without-notices', 'sends notices in pages only', 'runs/notices-arrive-live', {
    runs: (runs) => ({
      async *feed(options?: FeedOptions) {
        const { signal } = options ?? {};
        for await (const item of runs.feed(options)) {
          if ('event' in item) yield item;
          else if (signal) return;
        }
      },
    }),
  }),
  broken(
    'quarantines-in-silence',
    'sends no notice of a quarantine',
    'runs/notices-of-quarantines',
    withoutKinds('quarantined'),
  ),
];

/** Broken quarantines: one damaged run stops every reader, or loses or repeats events when it is released. */
import { type QuarantinedRun, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_QUARANTINES: readonly BrokenStore[] = [
  broken('damage-stops-the-feed', 'fails every page with a damaged run in it', 'runs/damage-stays-in-its-run', {
    runs: (runs) => ({
      async feedPage(options) {
        const page = await runs.feedPage(options);
        if (page.held) throw new TidemarkError('CORRUPT_EVENT', 'An event of the page is corrupt');
        return page;
      },
    }),
  }),
  broken('skips-in-silence', 'skips a damaged run without reporting it', 'runs/damage-is-noted', {
    runs: () => ({ listQuarantined: async () => ({ items: [] }) }),
  }),
  broken(
    'release-of-what-was',
    'releases only the events stored before the damage was found',
    'runs/release-gives-everything-again',
    {
      runs: (runs) => ({
        async feedPage(options) {
          const page = await runs.feedPage(options);
          return { ...page, items: page.items.filter((item) => !item.released || item.event.runSeq < 6) };
        },
      }),
    },
  ),
  broken('releases-twice', 'returns released events twice', 'runs/release-gives-everything-again', {
    runs: (runs) => ({
      async feedPage(options) {
        const page = await runs.feedPage(options);
        return { ...page, items: page.items.flatMap((item) => (item.released ? [item, item] : [item])) };
      },
    }),
  }),
  broken('releases-anything', 'releases a run without verifying it', 'runs/release-verifies', {
    runs: (runs) => ({
      async releaseRun(runId, options) {
        const { items } = await runs.listQuarantined({ state: 'any' });
        const entry = items.find((it) => it.runId === runId);
        return entry ? { ...entry, state: 'released', release: 1 } : runs.releaseRun(runId, options);
      },
    }),
  }),
  broken('quarantines-in-public', 'lists the quarantined runs of all tenants', 'runs/quarantine-is-the-tenants-own', {
    runs: (_, whole) => ({ listQuarantined: (options) => whole.runs.listQuarantined({ ...options }) }),
  }),
  broken(
    'releases-in-public',
    'yields released events to the feeds of all tenants',
    'runs/release-stays-within-the-tenant',
    {
      runs: (runs, whole) => ({
        async feedPage(options) {
          const page = await runs.feedPage(options);
          const { items } = await whole.runs.feedPage({ ...options });
          const isHidden = (cursor: string) => !page.items.some((item) => item.cursor === cursor);
          return { ...page, items: [...page.items, ...items.filter((it) => it.released && isHidden(it.cursor))] };
        },
      }),
    },
  ),
  broken('quarantined-for-ever', 'keeps the quarantine of a deleted run', 'runs/deleting-ends-a-quarantine', () => {
    const kept = new Map<string, QuarantinedRun[]>();
    return {
      runs: (runs) => ({
        async deleteRun(runId, options) {
          kept.set(runId, (await runs.listQuarantined()).items);
          return runs.deleteRun(runId, options);
        },
        async listQuarantined(options) {
          const { items } = await runs.listQuarantined(options);
          return { items: [...items, ...[...kept.values()].flat()] };
        },
      }),
    };
  }),
];

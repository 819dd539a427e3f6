/** Commits that span pages of the feed: each is checked from its first event, without reading it again for each page. */
import { expect, it } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import { memoryStore } from '../memory/store.ts';
import { withRuns } from '../store.ts';

const PAGE = 3;

const event = (runId: string, n: number): RunEventInput => ({
  ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z' },
  ...{ runId, tenantId: 'default', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
  ...{ engineAttemptId: 1, logicalAttemptId: 1, idempotencyKey: `${runId} ${n}`, payload: { n } },
});

/** Returns a store with a commit of eight events between single events, and the ranges that it reads of runs. */
async function feedOf() {
  const store = memoryStore();
  await store.runs.appendEvent(event('a', 0));
  await store.runs.appendEvent(event('b', 0));
  await store.runs.appendEvents(Array.from({ length: 8 }, (_, n) => event('b', n + 1)));
  await store.runs.appendEvent(event('a', 1));
  const reads: [runId: string, afterSeq: number, limit: number][] = [];
  const { runs } = withRuns(store, (engine) => ({
    fetch: (run, afterSeq, limit, call) => {
      reads.push([run.runId, afterSeq, limit]);
      return engine.fetch(run, afterSeq, limit, call);
    },
  }))!;
  return { runs, reads };
}

it('reads no event of a run again when pages follow each other', async () => {
  const { runs, reads } = await feedOf();
  const seqs: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await runs.feedPage({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    seqs.push(...items.map(({ event: { runId, runSeq } }) => `${runId}${runSeq}`));
    if (next === undefined || next === cursor) break;
    cursor = next;
  }
  expect(seqs).toEqual(['a1', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8', 'b9', 'a2']);
  expect(reads).toEqual([]);
});

it('reads the start of a commit once when a page begins within it', async () => {
  const { runs } = await feedOf();
  const first = await runs.feedPage({ limit: PAGE * 2 });
  const cursor = first.items.at(-1)!.cursor;
  const later = await feedOf();
  const page = await later.runs.feedPage({ limit: PAGE, cursor });
  expect(page.items.map(({ event: { runId, runSeq } }) => `${runId}${runSeq}`)).toEqual(['b6', 'b7', 'b8']);
  // The commit begins at sequence 2 and has four events before this page.
  expect(later.reads).toEqual([['b', 1, 4]]);
});

it('checks a page on its own when another follows the same cursor', async () => {
  const { runs, reads } = await feedOf();
  const { next } = await runs.feedPage({ limit: PAGE * 2 });
  const pages = [];
  for (let n = 0; n < 3; n++) pages.push(await runs.feedPage({ limit: PAGE, cursor: next! }));
  for (const { items } of pages) expect(items.map(({ event: { runSeq } }) => runSeq)).toEqual([6, 7, 8]);
  expect(reads).toEqual([
    ['b', 1, 4],
    ['b', 1, 4],
  ]);
});

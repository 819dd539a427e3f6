/** Reading a run backwards, and between two sequences (RUN-12). */
import type { FetchOptions, RunEventRecord } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, upTo } from '../iterate.ts';
import { appendNumbered, numbersOf, runEvent } from './events.ts';
import { damagedView } from './quarantine.ts';

const COUNT = 23;

export const REVERSE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/fetch-newest-first',
    title: 'with order newest, pages of any size return each event exactly once, the last one first',
    proves: ['RUN-12', 'RUN-17'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 11);
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n: 12 } }));
      await appendNumbered(bench, runId, COUNT - 12, 13);
      const { runs } = bench.tenant;
      const backwards = upTo(COUNT).toReversed();
      for (const limit of [1, 2, 7, COUNT - 1, COUNT, COUNT + 1]) {
        const found: RunEventRecord[] = [];
        for (let beforeSeq: number | undefined; ; ) {
          const page = await runs.fetchEvents(runId, { order: 'newest', limit, beforeSeq });
          expect(page.length <= limit, `a page has at most ${limit} events`);
          found.push(...page);
          beforeSeq = page.at(-1)?.runSeq;
          if (page.length < limit) break;
        }
        expectEqual(numbersOf(found), backwards, `pages of ${limit} join to the whole log`);
        const read = await all(runs.readEvents(runId, { order: 'newest', limit }));
        expectEqual(numbersOf(read), backwards, `readEvents reads pages of ${limit}`);
      }
      const forwards = await runs.fetchEvents(runId);
      expectEqual(await runs.fetchEvents(runId, { order: 'newest' }), forwards.toReversed(), 'the events are the same');
      expectEqual(numbersOf(await runs.fetchEvents(runId, { order: 'oldest' })), upTo(COUNT), 'oldest is the default');
    },
  }),
  runsCase({
    id: 'runs/event-ranges-are-exclusive',
    title: 'afterSeq and beforeSeq are both exclusive, in either order',
    proves: ['RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 9);
      const ranges: [FetchOptions, number[]][] = [
        [{ afterSeq: 3, beforeSeq: 7 }, [4, 5, 6]],
        [{ afterSeq: 3, beforeSeq: 7, limit: 2 }, [4, 5]],
        [{ afterSeq: 3, beforeSeq: 7, limit: 2, order: 'newest' }, [6, 5]],
        [{ beforeSeq: 3 }, [1, 2]],
        [{ beforeSeq: 3, order: 'newest' }, [2, 1]],
        [{ beforeSeq: 1 }, []],
        [{ beforeSeq: 1, order: 'newest' }, []],
        [{ afterSeq: 4, beforeSeq: 5 }, []],
        [{ afterSeq: 5, beforeSeq: 3, order: 'newest' }, []],
        [{ afterSeq: 7, order: 'newest' }, [9, 8]],
        [{ afterSeq: 9, order: 'newest' }, []],
        [{ beforeSeq: 1_000_000, limit: 2, order: 'newest' }, [9, 8]],
        [{ afterSeq: 7, beforeSeq: 1_000_000 }, [8, 9]],
      ];
      for (const [range, wanted] of ranges) {
        const name = JSON.stringify(range);
        expectEqual(numbersOf(await bench.tenant.runs.fetchEvents(runId, range)), wanted, `fetchEvents with ${name}`);
        if (range.limit !== undefined) continue;
        const read = await all(bench.tenant.runs.readEvents(runId, { ...range, limit: 1 }));
        expectEqual(numbersOf(read), wanted, `readEvents with ${name}`);
      }
      const unknown = bench.id('run');
      expectEqual(
        await bench.tenant.runs.fetchEvents(unknown, { order: 'newest' }),
        [],
        'an unknown run has no events',
      );
    },
  }),
  runsCase({
    id: 'runs/bad-ranges-are-refused',
    title: 'an invalid beforeSeq or order is INVALID_ARGUMENT',
    proves: ['RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      for (const beforeSeq of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '3' as never, null as never]) {
        const error = await expectCode('INVALID_ARGUMENT', `beforeSeq ${beforeSeq} is refused`, () =>
          bench.tenant.runs.fetchEvents(runId, { beforeSeq }),
        );
        expectEqual(error.field, 'beforeSeq', 'the error names beforeSeq');
      }
      for (const order of ['down', '', 1, null]) {
        const error = await expectCode('INVALID_ARGUMENT', `order ${order} is refused`, () =>
          bench.tenant.runs.fetchEvents(runId, { order: order as never }),
        );
        expectEqual(error.field, 'order', 'the error names order');
      }
    },
  }),
  runsCase({
    id: 'runs/newest-of-removed-runs',
    title: 'reading backwards, an archived run fails with RUN_ARCHIVED and a deleted one is unknown',
    proves: ['RUN-12', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const [archived, deleted] = [bench.id('run'), bench.id('run')];
      for (const runId of [archived, deleted]) await appendNumbered(bench, runId, 3);
      await runs.archiveRun(archived, { location: 'kit:reverse', expectedSeq: 3 });
      await runs.deleteRun(deleted);
      for (const range of [{}, { beforeSeq: 3 }, { beforeSeq: 1 }]) {
        await expectCode('RUN_ARCHIVED', `the archived run with ${JSON.stringify(range)}`, () =>
          runs.fetchEvents(archived, { ...range, order: 'newest' }),
        );
        expectEqual(
          await runs.fetchEvents(deleted, { ...range, order: 'newest' }),
          [],
          'the deleted run has no events',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/damage-read-backwards',
    title: 'reading backwards fails with CORRUPT_EVENT at a damaged event, and other pages are unaffected',
    proves: ['RUN-12', 'RUN-17', 'RUN-20'],
    async run(bench) {
      const runId = bench.id('run');
      for (let n = 1; n <= 9; n++) await appendNumbered(bench, runId, 1, n);
      const { view } = damagedView(bench, runId, 5);
      if (view === null) return;
      const page = (range: FetchOptions) => view.runs.fetchEvents(runId, { ...range, order: 'newest' });
      expectEqual(numbersOf(await page({ limit: 4 })), [9, 8, 7, 6], 'the pages after it are whole');
      for (const range of [{}, { limit: 5 }, { beforeSeq: 6, limit: 1 }, { beforeSeq: 6 }, { afterSeq: 4 }]) {
        const error = await expectCode('CORRUPT_EVENT', `a page with the damage, ${JSON.stringify(range)}`, () =>
          page(range),
        );
        expectEqual([error.runId, error.runSeq], [runId, 5], 'the error names the event');
      }
      expectEqual(numbersOf(await page({ beforeSeq: 5 })), [4, 3, 2, 1], 'the pages before it are whole');
      const found: number[] = [];
      await expectCode('CORRUPT_EVENT', 'readEvents ends at the damage', async () => {
        for await (const event of view.runs.readEvents(runId, { order: 'newest', limit: 2 })) found.push(event.runSeq);
      });
      expectEqual(found, [9, 8, 7, 6], 'after it has returned the later events');
    },
  }),
  runsCase({
    id: 'runs/newest-beside-appends',
    title: 'a page of the newest events ends at or after every append acknowledged before it, without holes',
    proves: ['RUN-2', 'RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      let acknowledged = 0;
      let isOver = false;
      const writing = (async () => {
        for (let n = 1; n <= 30; n++) {
          const { runSeq } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
          acknowledged = runSeq;
        }
      })().finally(() => {
        isOver = true;
      });
      try {
        for (let rounds = 0; !isOver || rounds < 2; rounds++) {
          const before = acknowledged;
          const seqs = (await peer.runs.fetchEvents(runId, { order: 'newest', limit: 4 })).map(({ runSeq }) => runSeq);
          expect((seqs[0] ?? 0) >= before, `the page begins at ${seqs[0]}, and ${before} was acknowledged before`);
          const wanted = seqs.map((_, at) => seqs[0]! - at);
          expectEqual(seqs, wanted, 'the page has no holes');
          expect(seqs.length === Math.min(4, seqs[0] ?? 0), 'the page is whole');
        }
      } finally {
        // Awaited even if the reader failed, because the store closes after the case.
        await writing;
      }
    },
  }),
];

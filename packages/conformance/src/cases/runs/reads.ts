/** Reading by watermark: order, pages, limits and the results for an unknown run (001 §4; RUN-12). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, upTo } from '../iterate.ts';
import { appendNumbered, numbersOf, runEvent, wholeLog } from './events.ts';

export const READ_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/fetch-is-ordered',
    title: 'fetchEvents returns events in ascending runSeq order',
    proves: ['001 §4', 'RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const late = '2030-01-01T00:00:00.000Z';
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId, emittedAt: late, payload: { n: 0 } }));
      await appendNumbered(bench, runId, 12);
      const events = await bench.tenant.runs.fetchEvents(runId);
      const seqs = events.map((it) => it.runSeq);
      expectEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
        'events are in order of runSeq',
      );
      expectEqual(numbersOf(events), [0, ...upTo(12)], 'the order is that of commits, not of producers’ clocks');
    },
  }),
  runsCase({
    id: 'runs/watermark-is-exclusive',
    title: 'afterSeq is exclusive: only later events are returned',
    proves: ['001 §4.1', '001 §1', '002 §4', 'RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      const results = await appendNumbered(bench, runId, 5);
      for (const [at, { runSeq }] of results.entries()) {
        const events = await bench.tenant.runs.fetchEvents(runId, { afterSeq: runSeq });
        expectEqual(numbersOf(events), upTo(5).slice(at + 1), `after ${runSeq} come exactly the later events`);
      }
      expectEqual(
        await bench.tenant.runs.fetchEvents(runId, { afterSeq: 1_000_000 }),
        [],
        'nothing comes after the end',
      );
      expectEqual(
        numbersOf(await bench.tenant.runs.fetchEvents(runId, { afterSeq: 0 })),
        upTo(5),
        '0 is the start of the log',
      );
    },
  }),
  runsCase({
    id: 'runs/pages-join-without-loss',
    title: 'a watermark reader sees each event exactly once with any page size',
    proves: ['001 §4.1', 'RUN-2', 'RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 23);
      for (const limit of [1, 2, 7, 22, 23, 24]) {
        expectEqual(
          numbersOf(await wholeLog(bench.tenant, runId, limit)),
          upTo(23),
          `pages of ${limit} join to the whole log`,
        );
      }
    },
  }),
  runsCase({
    id: 'runs/limit-is-a-maximum',
    title: 'limit is the maximum size of a page; the default is 1 000',
    proves: ['RUN-12', '001 §1'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1_000);
      await appendNumbered(bench, runId, 5, 1_001);
      expectEqual((await bench.tenant.runs.fetchEvents(runId, { limit: 3 })).length, 3, 'limit 3 returns three events');
      const page = await bench.tenant.runs.fetchEvents(runId);
      expectEqual(
        [page.length, page.at(-1)?.payload?.n],
        [1_000, 1_000],
        'without a limit a page has the first 1 000 events',
      );
      expectEqual((await bench.tenant.runs.fetchEvents(runId, { limit: 10_000 })).length, 1_005, '10 000 is allowed');
    },
  }),
  runsCase({
    id: 'runs/bad-read-options-are-refused',
    title: 'limits outside 1 to 10 000 and invalid watermarks are INVALID_ARGUMENT',
    proves: ['RUN-12'],
    async run(bench) {
      const runId = bench.id('run');
      for (const limit of [0, -1, 1.5, 10_001, Number.NaN, '5' as never, null as never]) {
        const error = await expectCode('INVALID_ARGUMENT', `limit ${limit} is refused`, () =>
          bench.tenant.runs.fetchEvents(runId, { limit }),
        );
        expectEqual(error.field, 'limit', 'the error names limit');
      }
      for (const afterSeq of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '0' as never, null as never]) {
        const error = await expectCode('INVALID_ARGUMENT', `afterSeq ${afterSeq} is refused`, () =>
          bench.tenant.runs.fetchEvents(runId, { afterSeq }),
        );
        expectEqual(error.field, 'afterSeq', 'the error names afterSeq');
      }
    },
  }),
  runsCase({
    id: 'runs/unknown-runs-are-empty',
    title: 'reads of an unknown run return [], headSeq 0 and snapshot null; projecting it fails with RUN_NOT_FOUND',
    proves: ['RUN-12', '004 §2'],
    async run(bench) {
      const runId = bench.id('run');
      expectEqual(await bench.tenant.runs.fetchEvents(runId), [], 'fetchEvents returns no events');
      expectEqual(await all(bench.tenant.runs.readEvents(runId)), [], 'readEvents yields nothing');
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'headSeq is 0');
      expectEqual(await bench.tenant.runs.getSnapshot(runId), null, 'there is no snapshot');
      await expectCode('RUN_NOT_FOUND', 'there is nothing to project', () => bench.tenant.runs.projectSnapshot(runId));
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'reading creates nothing');
    },
  }),
  runsCase({
    id: 'runs/head-follows-the-log',
    title: 'headSeq is the sequence of the last event as soon as the append is acknowledged',
    proves: ['RUN-12', 'RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      for (let round = 0; round < 5; round++) {
        const { runSeq } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId }));
        expectEqual(await bench.tenant.runs.headSeq(runId), runSeq, 'the writer sees the new head');
        expectEqual(await peer.runs.headSeq(runId), runSeq, 'every other client sees the new head');
        expectEqual(
          (await peer.runs.fetchEvents(runId)).at(-1)?.runSeq,
          runSeq,
          'every other client can read the event',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/iterator-reads-to-the-end',
    title: 'readEvents yields all events page by page and then ends',
    proves: ['RUN-12', '001 §4.1'],
    async run(bench) {
      const runId = bench.id('run');
      const results = await appendNumbered(bench, runId, 25);
      for (const limit of [1, 10, 25, 100]) {
        expectEqual(
          numbersOf(await all(bench.tenant.runs.readEvents(runId, { limit }))),
          upTo(25),
          `in pages of ${limit}`,
        );
      }
      const rest = await all(bench.tenant.runs.readEvents(runId, { afterSeq: results[19]!.runSeq, limit: 2 }));
      expectEqual(numbersOf(rest), [21, 22, 23, 24, 25], 'readEvents can start after a watermark');
      let seen = 0;
      for await (const _ of bench.tenant.runs.readEvents(runId, { limit: 5 })) if (++seen === 7) break;
      expect(seen === 7, 'readEvents can be left early');
    },
  }),
];

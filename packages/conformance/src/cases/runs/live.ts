/** Live reads: tails of one run and the feed of all runs (RUN-2). */

import type { RunEventRecord } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { take, upTo } from '../iterate.ts';
import { appendNumbered, appendTypes, numbersOf, runEvent, wholeLog } from './events.ts';
import { feedMark, pagedFeed } from './feed-pages.ts';

export const LIVE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/tail-gives-the-past-then-the-present',
    title: 'a tail yields the stored events, then each new one, without gaps or repeats',
    proves: ['RUN-2', '001 §4.1'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 5);
      const reading = take(17, (signal) => bench.tenant.runs.tail(runId, { signal }));
      // More than are read, so that a missed event causes a difference and not a long wait.
      for (let n = 6; n <= 20; n++) {
        await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
        if (n % 4 === 0) await sleep(15);
      }
      expectEqual(numbersOf(await reading), upTo(17), 'every event arrives once, in order');
    },
  }),
  runsCase({
    id: 'runs/tail-of-a-run-to-come',
    title: 'a tail may start before its run exists and yields events of other clients',
    proves: ['RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const reading = take(3, (signal) => bench.tenant.runs.tail(runId, { signal }));
      await sleep(30);
      for (const n of [1, 2, 3]) await peer.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
      expectEqual(numbersOf(await reading), [1, 2, 3], 'the tail waits for the first event and yields all');
    },
  }),
  runsCase({
    id: 'runs/tail-resumes-after-a-watermark',
    title: 'an interrupted tail resumes after the last sequence it returned',
    proves: ['RUN-2', '001 §4.1'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 9);
      const seen: RunEventRecord[] = [];
      while (seen.length < 9) {
        const afterSeq = seen.at(-1)?.runSeq ?? 0;
        seen.push(
          ...(await take(Math.min(2, 9 - seen.length), (signal) =>
            bench.tenant.runs.tail(runId, { afterSeq, signal, limit: 1 }),
          )),
        );
      }
      expectEqual(numbersOf(seen), upTo(9), 'cut tails join without gap or repeat');
    },
  }),
  runsCase({
    id: 'runs/tail-ends-when-aborted',
    title: 'a waiting tail ends when its signal aborts',
    proves: ['GEN-3'],
    async run(bench) {
      const controller = new AbortController();
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const reading = (async () => {
        let count = 0;
        for await (const _ of bench.tenant.runs.tail(runId, { signal: controller.signal })) {
          count++;
          // At this point the tail waits for another event, which never arrives.
          setTimeout(() => controller.abort(), 30);
        }
        return count;
      })();
      const outcome = await reading.catch((error: { code?: string }) => error.code);
      expect(
        outcome === 1 || outcome === 'ABORTED',
        `the tail ends or fails with ABORTED, not with ${String(outcome)}`,
      );
    },
  }),
  runsCase({
    id: 'runs/feed-keeps-per-run-order',
    title: 'the feed yields all events of all runs, each run in its order, then new ones',
    proves: ['RUN-2'],
    needs: ['runs.feed'],
    async run(bench) {
      const ids = [bench.id('run'), bench.id('run'), bench.id('run')];
      const write = async (from: number, to: number) => {
        for (let n = from; n <= to; n++) {
          await bench.tenant.runs.appendEvents(ids.map((runId) => runEvent(bench, { runId, payload: { n } })));
        }
      };
      const after = await feedMark(bench);
      await write(1, 4);
      const reading = take(30, (signal) => bench.tenant.runs.feed({ cursor: after, signal }));
      await write(5, 10);
      const items = await reading;
      for (const runId of ids) {
        const own = items.filter((it) => it.event.runId === runId).map((it) => it.event);
        expectEqual(own, await wholeLog(bench.tenant, runId), 'the feed has each run’s log, in order, exactly once');
      }
    },
  }),
  runsCase({
    id: 'runs/feed-resumes-from-any-cursor',
    title: 'the feed resumes after the cursor of any item, in pages or live',
    proves: ['RUN-2'],
    needs: ['runs.feed'],
    async run(bench) {
      const ids = [bench.id('run'), bench.id('run')];
      const after = await feedMark(bench);
      for (let n = 1; n <= 6; n++) {
        for (const runId of ids) await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
      }
      const whole = await pagedFeed(bench.tenant, 12, { cursor: after, limit: 5 });
      expectEqual(whole.length, 12, 'pages return every event once');
      const names = whole.map((it) => it.event.eventId);
      expectEqual(new Set(names).size, 12, 'no event is repeated');
      for (const [at, { cursor }] of whole.entries()) {
        if (at === 11) break;
        const [next] = await take(1, (signal) => bench.tenant.runs.feed({ cursor: cursor, signal }));
        expectEqual(next?.event.eventId, names[at + 1], 'the same events follow a cursor every time');
      }
      await expectCode('INVALID_ARGUMENT', 'an invalid cursor is refused', () =>
        bench.tenant.runs.feedPage({ cursor: 'nonsense' }),
      );
    },
  }),
  runsCase({
    id: 'runs/feed-filters',
    title: 'the feed filters by tenant and event type, and a view sees its tenant only',
    proves: ['GEN-10'],
    needs: ['runs.feed'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      const after = await feedMark(bench);
      await bench.store.runs.appendEvent(runEvent(other, { runId, eventType: 'RunStarted' }));
      await appendTypes(bench, runId, 'RunStarted', 'Progress', 'RunCompleted');
      const own = await pagedFeed(bench.tenant, 3, { cursor: after });
      const types = ['RunStarted', 'Progress', 'RunCompleted'];
      expectEqual(
        own.map((it) => [it.event.tenantId, it.event.eventType]),
        types.map((it) => [bench.tenantId, it]),
        'a view has only its own events',
      );
      const some = await pagedFeed(bench.tenant, 2, {
        cursor: after,
        filter: { eventTypes: ['Progress', 'RunCompleted'] },
      });
      expectEqual(
        some.map((it) => it.event.eventType),
        ['Progress', 'RunCompleted'],
        'filters by event type',
      );
      const [foreign] = await take(1, (signal) =>
        bench.store.runs.feed({ cursor: after, filter: { tenantId: other.tenantId }, signal }),
      );
      expectEqual(
        [foreign?.event.tenantId, foreign?.event.runId],
        [other.tenantId, runId],
        'the operator can choose a tenant',
      );
    },
  }),
];

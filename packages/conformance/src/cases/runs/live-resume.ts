/** Live reads under load: slow readers, and readers that are interrupted and resume, while others write (RUN-2). */

import type { FeedItem, RunEventRecord } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { take, upTo } from '../iterate.ts';
import { appendNumbered, numbersOf, runEvent } from './events.ts';
import { feedMark } from './feed-pages.ts';

/** Writes numbered events one by one, with short waits in between. */
async function writeSlowly(bench: Bench, runId: string, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) {
    await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
    if (n % 10 === 0) await sleep(3);
  }
}

export const LIVE_RESUME_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/slow-readers-miss-nothing',
    title: 'a tail with a slow reader yields everything that was stored in the meantime, in order',
    proves: ['RUN-2', '001 §4.1'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 5);
      const controller = new AbortController();
      const tail = bench.tenant.runs.tail(runId, { signal: controller.signal })[Symbol.asyncIterator]();
      const seen: RunEventRecord[] = [(await tail.next()).value];
      // More events than fit on any page, so that a store which buffers for the slow reader would have to drop some.
      // More than are read, so that a dropped event causes a difference and not a long wait.
      for (let from = 6; from <= 4_005; from += 1_000) await appendNumbered(bench, runId, 1_000, from);
      await sleep(50);
      while (seen.length < 3_005) seen.push((await tail.next()).value);
      controller.abort();
      await tail.return?.();
      expectEqual(numbersOf(seen), upTo(3_005), 'the slow reader gets all events, once and in order');
    },
  }),
  runsCase({
    id: 'runs/cut-tails-join-while-others-write',
    title: 'a tail that is interrupted repeatedly and resumed after the last sequence has no gaps or repeats',
    proves: ['RUN-2', '001 §4.1'],
    async run(bench) {
      const runId = bench.id('run');
      const writing = writeSlowly(bench, runId, 1, 150);
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const seen: RunEventRecord[] = [];
      for (let cut = 0; seen.length < 120; cut++) {
        const afterSeq = seen.at(-1)?.runSeq ?? 0;
        const { runs } = clients[cut % 2]!;
        seen.push(...(await take(7, (signal) => runs.tail(runId, { afterSeq, signal }))));
      }
      await writing;
      expectEqual(numbersOf(seen), upTo(seen.length), 'the parts join without gap or repeat');
    },
  }),
  runsCase({
    id: 'runs/cut-feeds-join-while-others-write',
    title: 'a feed that is interrupted repeatedly and resumed after the last cursor has no gaps or repeats',
    proves: ['RUN-2'],
    needs: ['runs.feed'],
    async run(bench) {
      const ids = [bench.id('run'), bench.id('run'), bench.id('run')];
      const mark = await feedMark(bench);
      const writing = Promise.all(ids.map((runId) => writeSlowly(bench, runId, 1, 50)));
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const seen: FeedItem[] = [];
      // Fewer than are written, so that a missed event causes a difference and not a long wait.
      for (let cut = 0; seen.length < 120; cut++) {
        const after = seen.at(-1)?.cursor ?? mark;
        const { runs } = clients[cut % 2]!;
        seen.push(...(await take(7, (signal) => runs.feed({ cursor: after, signal }))));
      }
      await writing;
      for (const runId of ids) {
        const own = seen.map((it) => it.event).filter((it) => it.runId === runId);
        expectEqual(numbersOf(own), upTo(own.length), 'each run has no gap and is in order');
      }
    },
  }),
];

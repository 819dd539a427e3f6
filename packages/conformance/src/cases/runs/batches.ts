/** Batches and the fence: one result per input, and the events of a run all together or not at all (RUN-7). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendNumbered, appendTypes, numbersOf, runEvent, wholeLog } from './events.ts';

export const BATCH_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/batch-results-in-input-order',
    title: 'a batch over several runs returns one result per input, in input order',
    proves: ['RUN-7'],
    async run(bench) {
      const [a, b] = [bench.id('run'), bench.id('run')];
      const events = [a, b, b, a, b].map((runId, n) => runEvent(bench, { runId, payload: { n } }));
      const results = await bench.tenant.runs.appendEvents(events);
      expectEqual(
        results.map((it) => it.eventId),
        events.map((it) => it.eventId),
        'results are in the order of their events',
      );
      expectEqual(numbersOf(await wholeLog(bench.tenant, a)), [0, 3], 'the first run keeps the order of its events');
      expectEqual(
        numbersOf(await wholeLog(bench.tenant, b)),
        [1, 2, 4],
        'the second run keeps the order of its events',
      );
      for (const [at, event] of events.entries()) {
        const log = await wholeLog(bench.tenant, event.runId);
        expectEqual(
          log.find((it) => it.eventId === event.eventId)?.runSeq,
          results[at]!.runSeq,
          'the returned sequence is the stored one',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/batch-repeats-are-duplicates-of-the-first',
    title: 'a key that appears twice in a batch is a duplicate of its first occurrence',
    proves: ['RUN-7', 'RUN-4'],
    async run(bench) {
      const runId = bench.id('run');
      const one = runEvent(bench, { runId, payload: { n: 1 } });
      const results = await bench.tenant.runs.appendEvents([one, runEvent(bench, { runId, payload: { n: 2 } }), one]);
      expectEqual(
        results.map((it) => it.persisted),
        [true, true, false],
        'the repeat is not persisted',
      );
      expectEqual(
        [results[2]!.runSeq, results[2]!.eventId],
        [results[0]!.runSeq, one.eventId],
        'the repeat returns the position of the first',
      );
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1, 2], 'two events are stored');
    },
  }),
  runsCase({
    id: 'runs/batch-mixes-new-and-stored',
    title: 'a batch retried with more events adds only the new ones',
    proves: ['RUN-7', 'RUN-4'],
    async run(bench) {
      const runId = bench.id('run');
      const events = [1, 2, 3, 4].map((n) => runEvent(bench, { runId, payload: { n } }));
      await bench.tenant.runs.appendEvents(events.slice(0, 2));
      const results = await bench.tenant.runs.appendEvents(events);
      expectEqual(
        results.map((it) => it.idempotent),
        [true, true, false, false],
        'stored events are duplicates, the others are new',
      );
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1, 2, 3, 4], 'the log has each event once');
    },
  }),
  runsCase({
    id: 'runs/batch-partly-stored-keeps-the-status',
    title: 'after a partly stored batch the run has the status that follows from its whole log',
    proves: ['RUN-7', 'RUN-3', 'RUN-11'],
    async run(bench) {
      const { runs } = bench.tenant;
      const types = ['RunStarted', 'RunPaused', 'RunResumed', 'RunPaused', 'RunCancelled'];
      for (let stored = 1; stored < types.length; stored++) {
        const runId = bench.id('run');
        const events = types.map((eventType) => runEvent(bench, { runId, eventType }));
        await runs.appendEvents(events.slice(0, stored));
        // Stored events are sent between new ones, because their position in the log counts and not their position in
        // the batch.
        const fresh = events.slice(stored);
        await runs.appendEvents([...fresh.slice(0, 1), ...events.slice(0, stored), ...fresh.slice(1)]);
        const [listed] = (await runs.listRuns()).items.filter((run) => run.runId === runId);
        const { status } = await runs.projectSnapshot(runId);
        expectEqual([listed?.status, status], ['CANCELLED', 'CANCELLED'], `${stored} of ${types.length} were stored`);
      }
    },
  }),
  runsCase({
    id: 'runs/batch-partly-refused-is-unknown',
    title: 'a batch with one rejected run reports that nothing was written only if that is true',
    proves: ['RUN-7', 'GEN-8'],
    async run(bench) {
      const { runs } = bench.tenant;
      const gone = bench.id('run');
      await appendNumbered(bench, gone, 1);
      await runs.deleteRun(gone);
      for (const isFirst of [true, false]) {
        const runId = bench.id('run');
        const [fresh, refused] = [runEvent(bench, { runId }), runEvent(bench, { runId: gone })];
        const events = isFirst ? [fresh, refused] : [refused, fresh];
        const error = await expectCode(['RUN_DELETED', 'OUTCOME_UNKNOWN'], 'one run was deleted', () =>
          runs.appendEvents(events),
        );
        if (error.outcome === 'rejected') {
          expectEqual(await runs.headSeq(runId), 0, 'nothing was written');
          continue;
        }
        expect(error.write !== undefined, 'an unknown outcome carries the write');
        await expectCode('RUN_DELETED', 'the retry reports the refused run', () => runs.appendEvents(events));
        expectEqual(await runs.headSeq(runId), 1, 'the other run has its event once');
      }
    },
  }),
  runsCase({
    id: 'runs/batch-with-a-bad-event-writes-nothing',
    title: 'one invalid event rejects the whole batch',
    proves: ['RUN-7', 'RUN-9'],
    async run(bench) {
      const runId = bench.id('run');
      const good = runEvent(bench, { runId });
      const bad = runEvent(bench, { runId, logicalAttemptId: 0 });
      await expectCode('INVALID_ARGUMENT', 'a batch with an invalid event is refused', () =>
        bench.tenant.runs.appendEvents([good, runEvent(bench, { runId }), bad]),
      );
      const poisoned = runEvent(bench, { runId, payload: { n: Number.NaN } });
      await expectCode('INVALID_PAYLOAD', 'a batch with a payload that JSON cannot represent is refused', () =>
        bench.tenant.runs.appendEvents([good, poisoned]),
      );
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing of it was written');
    },
  }),
  runsCase({
    id: 'runs/batch-with-a-scope-mismatch-is-atomic',
    title: 'a batch whose last event names another project writes none of that run’s events',
    proves: ['RUN-7', 'RUN-8'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const before = await bench.tenant.runs.headSeq(runId);
      await expectCode('SCOPE_MISMATCH', 'the run belongs to its first project', () =>
        bench.tenant.runs.appendEvents([
          runEvent(bench, { runId }),
          runEvent(bench, { runId, projectId: 'elsewhere' }),
        ]),
      );
      expectEqual(
        await bench.tenant.runs.headSeq(runId),
        before,
        'the valid event of the batch was not written either',
      );
    },
  }),
  runsCase({
    id: 'runs/batch-of-a-thousand',
    title: 'a batch accepts a thousand events and no more',
    proves: ['RUN-7'],
    async run(bench) {
      const runId = bench.id('run');
      const results = await appendNumbered(bench, runId, 1_000);
      expectEqual(results.length, 1_000, 'one result per event');
      expectEqual(await bench.tenant.runs.headSeq(runId), results.at(-1)!.runSeq, 'all of them are stored');
      const other = bench.id('run');
      await expectCode('INVALID_ARGUMENT', 'a larger batch is refused', () => appendNumbered(bench, other, 1_001));
      expectEqual(await bench.tenant.runs.headSeq(other), 0, 'nothing of the larger batch is written');
    },
  }),
  runsCase({
    id: 'runs/fence-lets-the-expected-through',
    title: 'an append with expectedSeq is written if that is the run’s last sequence; 0 means a new run',
    proves: ['RUN-7'],
    async run(bench) {
      const runId = bench.id('run');
      const { runSeq } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 0 });
      const results = await bench.tenant.runs.appendEvents([runEvent(bench, { runId }), runEvent(bench, { runId })], {
        expectedSeq: runSeq,
      });
      expect(
        results.every((it) => it.persisted),
        'a batch on the expected head is written whole',
      );
    },
  }),
  runsCase({
    id: 'runs/fence-refuses-a-moved-head',
    title: 'SEQ_CONFLICT contains the current sequence, and nothing is written',
    proves: ['RUN-7', 'GEN-1'],
    async run(bench) {
      const runId = bench.id('run');
      const head = (await appendTypes(bench, runId, 'A', 'B')).at(-1)!.runSeq;
      for (const expectedSeq of [0, head - 1, head + 1]) {
        const error = await expectCode('SEQ_CONFLICT', `expecting ${expectedSeq} when the run is at ${head}`, () =>
          bench.tenant.runs.appendEvents([runEvent(bench, { runId }), runEvent(bench, { runId })], { expectedSeq }),
        );
        expectEqual(error.current, head, 'the error carries the current sequence');
      }
      const unknown = await expectCode('SEQ_CONFLICT', 'an unknown run is at 0', () =>
        bench.tenant.runs.appendEvent(runEvent(bench, { runId: bench.id('run') }), { expectedSeq: 3 }),
      );
      expectEqual(unknown.current, 0, 'the error carries sequence 0');
      expectEqual(await bench.tenant.runs.headSeq(runId), head, 'nothing was written');
    },
  }),
  runsCase({
    id: 'runs/fence-ignores-duplicates',
    title: 'duplicates do not count against the fence',
    proves: ['RUN-7'],
    async run(bench) {
      const runId = bench.id('run');
      const [a, b, c] = [1, 2, 3].map((n) => runEvent(bench, { runId, payload: { n } }));
      await bench.tenant.runs.appendEvents([a!, b!], { expectedSeq: 0 });
      const retried = await bench.tenant.runs.appendEvents([a!, b!], { expectedSeq: 0 });
      expect(
        retried.every((it) => it.idempotent),
        'a batch of only duplicates succeeds whatever it expected',
      );
      const head = await bench.tenant.runs.headSeq(runId);
      await expectCode('SEQ_CONFLICT', 'the remaining new event is fenced', () =>
        bench.tenant.runs.appendEvents([a!, c!], { expectedSeq: 0 }),
      );
      const results = await bench.tenant.runs.appendEvents([b!, c!], { expectedSeq: head });
      expectEqual(
        results.map((it) => it.persisted),
        [false, true],
        'a duplicate together with a new event on the right head succeeds',
      );
    },
  }),
  runsCase({
    id: 'runs/fence-needs-one-run',
    title: 'expectedSeq needs a batch of a single run and a whole number',
    proves: ['RUN-7'],
    async run(bench) {
      const [a, b] = [bench.id('run'), bench.id('run')];
      await expectCode('INVALID_ARGUMENT', 'a fence over two runs is refused', () =>
        bench.tenant.runs.appendEvents([runEvent(bench, { runId: a }), runEvent(bench, { runId: b })], {
          expectedSeq: 0,
        }),
      );
      for (const expectedSeq of [-1, 1.5, Number.NaN, '0' as never]) {
        await expectCode('INVALID_ARGUMENT', `expectedSeq ${expectedSeq} is not a sequence`, () =>
          bench.tenant.runs.appendEvent(runEvent(bench, { runId: a }), { expectedSeq }),
        );
      }
      expectEqual(
        [await bench.tenant.runs.headSeq(a), await bench.tenant.runs.headSeq(b)],
        [0, 0],
        'nothing was written',
      );
    },
  }),
];

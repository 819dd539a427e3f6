/** Duplicates: the same key in the same run is the same event, forever (004 §3.2; RUN-4). */
import { randomUUID } from 'node:crypto';
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendNumbered, numbersOf, runEvent, wholeLog } from './events.ts';

export const DUPLICATE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/duplicate-returns-stored-metadata',
    title: 'returns the stored event’s id, sequence and time for a duplicate key',
    proves: ['004 §3.2', '001 §3.2', '001 §2.1', '002 §3', 'RUN-4'],
    async run(bench) {
      const event = runEvent(bench, { runId: bench.id('run'), payload: { n: 1 } });
      const first = await bench.tenant.runs.appendEvent(event);
      await bench.pass(3);
      const retry = await bench.tenant.runs.appendEvent({ ...event, eventId: randomUUID() });
      expectEqual(
        [retry.eventId, retry.runSeq, retry.persistedAt],
        [first.eventId, first.runSeq, first.persistedAt],
        'the duplicate returns the id, sequence and time of the stored event',
      );
      expectEqual([retry.idempotent, retry.persisted], [true, false], 'the result is idempotent and not persisted');
    },
  }),
  runsCase({
    id: 'runs/duplicate-writes-nothing',
    title: 'a duplicate neither adds nor changes an event',
    proves: ['004 §3.2', '004 §4', 'RUN-4'],
    async run(bench) {
      const event = runEvent(bench, { runId: bench.id('run'), payload: { n: 1 } });
      await bench.tenant.runs.appendEvent(event);
      const before = await wholeLog(bench.tenant, event.runId);
      for (let round = 0; round < 3; round++) await bench.tenant.runs.appendEvent({ ...event, payload: { n: 2 } });
      expectEqual(await wholeLog(bench.tenant, event.runId), before, 'the log is unchanged');
      expectEqual(await bench.tenant.runs.headSeq(event.runId), before[0]!.runSeq, 'the head is unchanged');
    },
  }),
  runsCase({
    id: 'runs/duplicate-uses-no-sequence',
    title: 'a duplicate uses no sequence number',
    proves: ['RUN-4', 'RUN-2'],
    needs: ['runs.denseSequences'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId });
      const first = await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.appendEvent(event);
      const next = await bench.tenant.runs.appendEvent(runEvent(bench, { runId }));
      expectEqual(next.runSeq, first.runSeq + 1, 'the next new event gets the next number');
    },
  }),
  runsCase({
    id: 'runs/duplicate-says-whether-it-matches',
    title: 'payloadMatches distinguishes a true retry from a different event with the same key',
    proves: ['RUN-4'],
    async run(bench) {
      const event = runEvent(bench, { runId: bench.id('run'), payload: { amount: 10, to: { a: 1, b: 2 } } });
      await bench.tenant.runs.appendEvent(event);
      const same = await bench.tenant.runs.appendEvent(structuredClone(event));
      expect(same.payloadMatches !== false, 'a retried event matches');
      const other = await bench.tenant.runs.appendEvent({ ...event, payload: { amount: 11, to: { a: 1, b: 2 } } });
      expectEqual(other.payloadMatches, false, 'another payload under the same key is reported as a mismatch');
      const type = await bench.tenant.runs.appendEvent({ ...event, eventType: 'Other' });
      expectEqual(type.payloadMatches, false, 'another event type is a mismatch');
      const { payload: _, ...empty } = event;
      expectEqual(
        (await bench.tenant.runs.appendEvent(empty)).payloadMatches,
        false,
        'a missing payload is a mismatch',
      );
      const first = { ...empty, runId: bench.id('run') };
      await bench.tenant.runs.appendEvent(first);
      const filled = await bench.tenant.runs.appendEvent({ ...first, payload: event.payload! });
      expectEqual(filled.payloadMatches, false, 'a payload where there was none is a mismatch');
      expect((await bench.tenant.runs.appendEvent(first)).payloadMatches !== false, 'no payload matches no payload');
    },
  }),
  runsCase({
    id: 'runs/first-of-a-key-stays',
    title: 'the first event with a key is kept, even if the duplicate arrives late',
    proves: ['RUN-4', '004 §3.2'],
    async run(bench) {
      const runId = bench.id('run');
      const first = runEvent(bench, { runId, payload: { n: 0 } });
      const { runSeq } = await bench.tenant.runs.appendEvent(first);
      await appendNumbered(bench, runId, 50);
      await bench.pass(1_100);
      const retry = await bench.tenant.runs.appendEvent(first);
      expectEqual([retry.runSeq, retry.idempotent], [runSeq, true], 'a late retry still finds the first event');
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)).length, 51, 'nothing was added');
    },
  }),
  runsCase({
    id: 'runs/keys-belong-to-their-run',
    title: 'the same key in another run belongs to another event',
    proves: ['004 §3.2', '001 §2.1', 'RUN-4'],
    async run(bench) {
      const [one, two] = [bench.id('run'), bench.id('run')];
      const first = await bench.tenant.runs.appendEvent(runEvent(bench, { runId: one, idempotencyKey: 'k' }));
      const second = await bench.tenant.runs.appendEvent(runEvent(bench, { runId: two, idempotencyKey: 'k' }));
      expectEqual([second.persisted, second.idempotent], [true, false], 'keys are unique per run, not per store');
      expect(second.eventId !== first.eventId, 'the second run has its own event');
      expectEqual((await wholeLog(bench.tenant, two)).length, 1, 'the second run has its own log');
    },
  }),
  runsCase({
    id: 'runs/keys-are-opaque-text',
    title: 'keys are opaque text, compared by bytes',
    proves: ['RUN-5', 'GEN-5', '004 §3.2'],
    async run(bench) {
      const runId = bench.id('run');
      const keys = [
        'k',
        'K',
        'k ',
        ' k',
        'k%',
        'k_',
        '%',
        'é',
        'e\u0301',
        'sig|tenant|run|1',
        '🔑',
        'a:b',
        'a_b',
        '__proto__',
        '0',
        '00',
      ];
      for (const idempotencyKey of keys) {
        const result = await bench.tenant.runs.appendEvent(runEvent(bench, { runId, idempotencyKey }));
        expect(result.persisted, `the key ${JSON.stringify(idempotencyKey)} is new`);
      }
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(
        log.map((it) => it.idempotencyKey),
        keys,
        'each key has its own event and is returned unchanged',
      );
    },
  }),
];

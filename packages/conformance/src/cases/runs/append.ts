/** Appending: the event sent, the result, and who assigns sequence and time (004 §3.1, §3.4; RUN-2, RUN-6, RUN-16). */
import { randomUUID } from 'node:crypto';
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { appendTypes, runEvent, wholeLog } from './events.ts';

const RFC3339_MILLIS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export const APPEND_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/append-returns-assignment',
    title: 'append returns the event id, its sequence, its time and whether it was written',
    proves: ['004 §3.1', '004 §2', 'RUN-16'],
    async run(bench) {
      const event = runEvent(bench, { runId: bench.id('run') });
      const result = await bench.tenant.runs.appendEvent(event);
      expectEqual(result.eventId, event.eventId, 'the result names the event that was sent');
      expect(
        Number.isSafeInteger(result.runSeq) && result.runSeq >= 1,
        'runSeq is a safe integer of at least 1, not text',
      );
      expect(
        RFC3339_MILLIS.test(result.persistedAt),
        `persistedAt is RFC 3339 UTC with milliseconds, not ${result.persistedAt}`,
      );
      expectEqual([result.idempotent, result.persisted], [false, true], 'a new event is persisted and not a duplicate');
    },
  }),
  runsCase({
    id: 'runs/records-carry-everything-sent',
    title: 'reads return every field that was sent, plus runSeq and persistedAt',
    proves: ['004 §3.1', '004 §2', '002 §1', 'RUN-9', '001 §6'],
    async run(bench) {
      const event = runEvent(bench, {
        runId: bench.id('run'),
        eventType: 'StepCompleted',
        stepId: 'model.orders',
        engineAttemptId: 3,
        logicalAttemptId: 2,
        payload: { result: { rows: 7 } },
        labels: { team: 'orders' },
        parentRunId: bench.id('parent'),
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        somethingNew: { nested: [1, null, 'x'] },
      });
      const result = await bench.tenant.runs.appendEvent(event);
      const [record] = await bench.tenant.runs.fetchEvents(event.runId);
      expectEqual(
        { ...record },
        {
          ...event,
          idempotencyKey: event.idempotencyKey as string,
          runSeq: result.runSeq,
          persistedAt: result.persistedAt,
        },
        'the record is the event as sent, unknown fields included, with what the store assigned',
      );
    },
  }),
  runsCase({
    id: 'runs/absent-fields-stay-absent',
    title: 'stepId and payload that were not sent are absent, not null',
    proves: ['004 §2', 'GEN-4'],
    async run(bench) {
      const runId = bench.id('run');
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId, stepId: undefined, payload: undefined }));
      const [record] = await bench.tenant.runs.fetchEvents(runId);
      expect(
        record && !('stepId' in record) && !('payload' in record),
        'fields that were undefined are absent from the record',
      );
    },
  }),
  runsCase({
    id: 'runs/producers-do-not-choose-sequence',
    title: 'a runSeq or persistedAt sent by a producer is ignored',
    proves: ['004 §3.1', '001 §2.2'],
    async run(bench) {
      const runId = bench.id('run');
      const forged = runEvent(bench, { runId, runSeq: 41, persistedAt: '1999-01-01T00:00:00.000Z' });
      await bench.tenant.runs.appendEvent(forged).catch(() => undefined);
      const { runSeq } = await bench.tenant.runs.appendEvent(runEvent(bench, { runId }));
      expect(runSeq < 41, 'the store assigns sequences itself; it may refuse the event but not use its sequence');
      for (const record of await wholeLog(bench.tenant, runId)) {
        expect(record.persistedAt > '2000', 'persistedAt is the time of the append authority');
      }
    },
  }),
  runsCase({
    id: 'runs/sequence-strictly-increases',
    title: 'sequences within a run are unique and strictly increase',
    proves: ['001 §2.1', '001 §2.2', '004 §4'],
    async run(bench) {
      const runId = bench.id('run');
      const results = await appendTypes(bench, runId, 'A', 'B', 'C', 'D', 'E');
      for (let at = 1; at < results.length; at++) {
        expect(results[at]!.runSeq > results[at - 1]!.runSeq, 'each append gets a higher sequence than the one before');
      }
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(
        log.map((it) => it.runSeq),
        results.map((it) => it.runSeq),
        'the log holds exactly these sequences',
      );
    },
  }),
  runsCase({
    id: 'runs/sequence-is-dense-per-run',
    title: 'the sequences of every run are 1, 2, 3 …, independent of other runs',
    proves: ['RUN-2'],
    needs: ['runs.denseSequences'],
    async run(bench) {
      const [one, two] = [bench.id('run'), bench.id('run')];
      const seen: Record<string, number[]> = { [one]: [], [two]: [] };
      for (const runId of [one, two, one, one, two, one]) {
        const event = runEvent(bench, { runId });
        seen[runId]!.push((await bench.tenant.runs.appendEvent(event)).runSeq);
        await bench.tenant.runs.appendEvent(event);
      }
      expectEqual(seen[one], upTo(4), 'the first run counts from 1 without gaps, duplicates use no number');
      expectEqual(seen[two], upTo(2), 'the second run counts from 1 without gaps');
    },
  }),
  runsCase({
    id: 'runs/emitted-at-is-exact-text',
    title: 'emittedAt is returned as the exact text that was sent',
    proves: ['004 §3.4', 'RUN-6', 'GEN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const times = [
        '2026-02-16T09:30:00Z',
        '2026-02-16T09:30:00.5Z',
        '2026-02-16T09:30:00.123456789Z',
        '2026-02-16T09:30:00.000+00:00',
        '1970-01-01T00:00:00.000Z',
        '2999-12-31T23:59:59.999Z',
        '2024-02-29T12:00:00.000Z',
      ];
      for (const emittedAt of times) await bench.tenant.runs.appendEvent(runEvent(bench, { runId, emittedAt }));
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(
        log.map((it) => it.emittedAt),
        times,
        'the producer’s own text is kept, in append order',
      );
    },
  }),
  runsCase({
    id: 'runs/persisted-at-never-decreases',
    title: 'persistedAt is the append authority’s clock and never decreases along the run',
    proves: ['004 §3.4', 'RUN-6', 'GEN-2'],
    async run(bench) {
      const runId = bench.id('run');
      for (let round = 0; round < 5; round++) {
        await Promise.all([0, 1, 2].map(() => bench.tenant.runs.appendEvent(runEvent(bench, { runId }))));
        await bench.pass(2);
      }
      const times = (await wholeLog(bench.tenant, runId)).map((it) => it.persistedAt);
      expect(
        times.every((it) => RFC3339_MILLIS.test(it)),
        'persistedAt is RFC 3339 UTC with milliseconds',
      );
      expectEqual(times, times.toSorted(), 'persistedAt never decreases along runSeq');
      expect(times[0]! < times.at(-1)!, 'persistedAt advances as time passes');
    },
  }),
  runsCase({
    id: 'runs/handle-fills-in-the-envelope',
    title: 'a handle appends, reads and snapshots one run with the envelope filled in',
    proves: ['004 §3.1', 'RUN-5'],
    async run(bench) {
      const runId = bench.id('run');
      const scope = { tenantId: bench.tenantId, projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' };
      const handle = bench.tenant.runs.handle(runId, scope);
      await handle.append('RunStarted');
      await handle.append('StepStarted', {}, { stepId: 's' });
      const again = await handle.append('StepStarted', {}, { stepId: 's' });
      expectEqual(again.idempotent, true, 'the same step start is a duplicate by its derived key');
      expectEqual(handle.runId, runId, 'the handle has its run id');
      expectEqual(await handle.headSeq(), again.runSeq, 'headSeq is that of the last event');
      expectEqual((await handle.snapshot()).status, 'RUNNING', 'the snapshot is current');
      const types: string[] = [];
      for await (const event of handle.events()) types.push(event.eventType);
      expectEqual(types, ['RunStarted', 'StepStarted'], 'the handle reads the events of the run');
      const own = await handle.append('Custom', { a: 1 }, { eventId: randomUUID(), idempotencyKey: 'mine' });
      expectEqual(own.persisted, true, 'envelope fields can be given');
    },
  }),
];

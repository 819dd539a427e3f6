/** Validation: each invalid field is refused by name, and nothing is written (RUN-9, 004 §3.3). */
import { randomUUID } from 'node:crypto';
import type { RunEventInput } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { INVALID_IDS } from '../poison.ts';
import { keylessEvent, runEvent, wholeLog } from './events.ts';

/**
 * Appends a valid event, then each invalid one. Every invalid event must be refused by field name and leave the run
 * unchanged.
 */
async function refuses(bench: Bench, field: string, values: readonly unknown[]): Promise<void> {
  const runId = bench.id('run');
  const { runSeq } = await bench.store.runs.appendEvent(runEvent(bench, { runId }));
  for (const value of values) {
    const event = { ...runEvent(bench, { runId }), [field]: value } as RunEventInput;
    const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 30)) : String(value);
    const error = await expectCode('INVALID_ARGUMENT', `${field} ${shown} is refused`, () =>
      bench.store.runs.appendEvent(event),
    );
    expect(error.field?.startsWith(field), `the error names ${field}, not ${error.field}`);
    expect(
      error.message.length > 0 && error.outcome === 'rejected',
      'the message says what to do, and nothing was written',
    );
  }
  expectEqual(await bench.tenant.runs.headSeq(runId), runSeq, `nothing was written for a bad ${field}`);
}

const NO_ATTEMPTS = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1', null, true];

export const VALIDATION_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/event-id-is-a-v4-uuid',
    title: 'eventId must be a version 4 UUID',
    proves: ['004 §2', 'RUN-9'],
    async run(bench) {
      const v4 = randomUUID();
      await refuses(bench, 'eventId', [
        null,
        '',
        'not-a-uuid',
        '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d',
        '017f22e2-79b0-7cc3-98c4-dc0c0c07398f',
        '00000000-0000-0000-0000-000000000000',
        v4.replaceAll('-', ''),
        `{${v4}}`,
        `${v4}\n`,
        7,
      ]);
    },
  }),
  runsCase({
    id: 'runs/attempts-are-integers-from-one',
    title: 'both attempt ids must be integers of at least 1',
    proves: ['004 §3.3', 'RUN-9'],
    async run(bench) {
      await refuses(bench, 'engineAttemptId', NO_ATTEMPTS);
      await refuses(bench, 'logicalAttemptId', NO_ATTEMPTS);
    },
  }),
  runsCase({
    id: 'runs/emitted-at-is-rfc3339-utc',
    title: 'emittedAt must be a real RFC 3339 time in UTC',
    proves: ['004 §2', 'RUN-9', 'GEN-2'],
    async run(bench) {
      await refuses(bench, 'emittedAt', [
        null,
        '',
        1_771_234_200_000,
        new Date(),
        'yesterday',
        '2026-02-16',
        '2026-02-16 09:30:00Z',
        '2026-02-16T09:30:00',
        '2026-02-16T09:30:00+02:00',
        '2026-02-30T09:30:00Z',
        '2025-02-29T09:30:00Z',
        '1900-02-29T09:30:00Z',
        '2100-02-29T09:30:00Z',
        '2026-00-16T09:30:00Z',
        '2026-02-00T09:30:00Z',
        '2026-04-31T09:30:00Z',
        '2026-13-01T09:30:00Z',
        '2026-02-16T24:00:00Z',
        '2026-02-16T09:60:00Z',
        '2016-12-31T23:59:60Z',
        ' 2026-02-16T09:30:00Z',
      ]);
      const runId = bench.id('run');
      const real = ['2000-02-29T00:00:00Z', '2024-02-29T23:59:59.999999999Z', '2026-12-31T23:59:59+00:00'];
      for (const emittedAt of real) await bench.tenant.runs.appendEvent(runEvent(bench, { runId, emittedAt }));
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(
        log.map((event) => event.emittedAt),
        real,
        'real times are returned as they were sent',
      );
    },
  }),
  runsCase({
    id: 'runs/scope-fields-are-ids',
    title:
      'run, tenant, project, environment and plan must be well-formed text of 1 to 512 bytes, and a run is required',
    proves: ['004 §2', 'RUN-9', 'GEN-5'],
    async run(bench) {
      const bad = INVALID_IDS.map(([, value]) => value);
      for (const field of ['projectId', 'environmentId', 'planId', 'planVersion']) await refuses(bench, field, bad);
      for (const field of ['runId', 'tenantId']) {
        for (const value of field === 'runId' ? [...bad, undefined] : bad) {
          const event = { ...runEvent(bench, { runId: bench.id('run') }), [field]: value } as RunEventInput;
          const error = await expectCode('INVALID_ARGUMENT', `a bad ${field} is refused`, () =>
            bench.store.runs.appendEvent(event),
          );
          expectEqual(error.field, field, 'the error names the field');
        }
      }
    },
  }),
  runsCase({
    id: 'runs/event-type-is-an-open-set',
    title: 'any well-formed text of 1 to 512 bytes is accepted as eventType',
    proves: ['RUN-9', '001 §6'],
    async run(bench) {
      await refuses(bench, 'eventType', [undefined, null, '', 'x'.repeat(513), 'a\0', 7]);
      const runId = bench.id('run');
      for (const eventType of ['StepCorrected', 'com.example/thing.happened', '事件', 'RunStartedX', 'runstarted']) {
        expect(
          (await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType }))).persisted,
          `${eventType} is stored`,
        );
      }
    },
  }),
  runsCase({
    id: 'runs/keys-must-not-be-empty',
    title: 'an idempotency key, if sent, must be text of 1 to 512 bytes',
    proves: ['RUN-5', 'GEN-5', 'RUN-9'],
    async run(bench) {
      await refuses(
        bench,
        'idempotencyKey',
        INVALID_IDS.map(([, value]) => value),
      );
    },
  }),
  runsCase({
    id: 'runs/step-types-need-a-step',
    title: 'stepId is required for the four step types, forbidden for run types, optional otherwise',
    proves: ['RUN-9'],
    async run(bench) {
      const runId = bench.id('run');
      const refused = async (eventType: string, stepId: string | undefined) => {
        const error = await expectCode('INVALID_ARGUMENT', `${eventType} with stepId ${stepId} is refused`, () =>
          bench.tenant.runs.appendEvent({ ...keylessEvent(bench, { runId, eventType }), stepId }),
        );
        expectEqual(error.field, 'stepId', 'the error names stepId');
      };
      for (const type of ['StepStarted', 'StepCompleted', 'StepFailed', 'StepSkipped']) await refused(type, undefined);
      for (const type of [
        'RunQueued',
        'RunStarted',
        'RunPaused',
        'RunResumed',
        'RunCompleted',
        'RunFailed',
        'RunCancelled',
      ]) {
        await refused(type, 'step');
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), 0, 'nothing was written');
      for (const stepId of [undefined, 'step']) {
        const { persisted } = await bench.tenant.runs.appendEvent(
          runEvent(bench, { runId, eventType: 'Unknown', stepId }),
        );
        expect(persisted, 'an unknown type may have a step or not');
      }
    },
  }),
  runsCase({
    id: 'runs/labels-are-small-text-maps',
    title: 'labels must be a map of text to text, parentRunId an id',
    proves: ['RUN-9'],
    async run(bench) {
      await refuses(bench, 'labels', ['x', 7, ['a'], { a: 1 }, { a: null }, { a: { b: 'c' } }, { a: '\0' }]);
      await refuses(bench, 'parentRunId', ['', 7, 'a\0', 'x'.repeat(513)]);
    },
  }),
  runsCase({
    id: 'runs/an-event-is-a-plain-object',
    title: 'an event must be a plain object, and a batch an array',
    proves: ['RUN-9', 'GEN-1'],
    async run(bench) {
      for (const event of [undefined, null, 'event', 7, [], new Map()]) {
        await expectCode('INVALID_ARGUMENT', 'the value is not an event', () =>
          bench.tenant.runs.appendEvent(event as never),
        );
      }
      for (const events of [undefined, null, {}, 'events']) {
        await expectCode('INVALID_ARGUMENT', 'the value is not a batch', () =>
          bench.tenant.runs.appendEvents(events as never),
        );
      }
    },
  }),
];

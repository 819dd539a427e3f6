/** Keys that the store derives if none is sent (RUN-5), checked in the returned records. */
import { createHash } from 'node:crypto';
import { deriveIdempotencyKey, type RunEventInput } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { keylessEvent, wholeLog } from './events.ts';

/** Keys that every implementation of the formula must produce. */
const VECTOR_RUN = '0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a';
const VECTORS: readonly [Partial<RunEventInput>, string][] = [
  [
    { eventType: 'StepStarted', stepId: 'model.orders' },
    '7f4b974658a54fb2aee9ecb9cefebd2eec27f3fd01f0f8c0d031dfc4a5b96e3c',
  ],
  [{ eventType: 'RunStarted' }, '204197f81e5dc1a8491d8e411c440a730c51a741cd48a74863d3e5c4c452640d'],
  [
    { eventType: 'StepFailed', stepId: 'model.orders', logicalAttemptId: 2 },
    '599945c1a8023ece5d2ae5132a4397b8cfbe9fa1c4c08d6fc4193a9bd9a2ebcd',
  ],
];

const DERIVED_TYPES = [
  'RunQueued',
  'RunStarted',
  'RunCompleted',
  'RunFailed',
  'RunCancelled',
  'StepStarted',
  'StepCompleted',
  'StepFailed',
  'StepSkipped',
];

async function storedKey(bench: Bench, event: RunEventInput): Promise<string> {
  const { runSeq } = await bench.tenant.runs.appendEvent(event);
  const [record] = await bench.tenant.runs.fetchEvents(event.runId, { afterSeq: runSeq - 1, limit: 1 });
  return record!.idempotencyKey;
}

export const KEY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/derived-key-vectors',
    title: 'an event without a key gets the specified SHA-256',
    proves: ['RUN-5', '004 §2'],
    async run(bench) {
      for (const [fields, key] of VECTORS) {
        const event = keylessEvent(bench, { runId: VECTOR_RUN, planId: 'plan_abc', planVersion: '2', ...fields });
        expectEqual(await storedKey(bench, event), key, `the key of ${fields.eventType} is the published vector`);
      }
    },
  }),
  runsCase({
    id: 'runs/derived-key-is-utf8',
    title: 'key parts beyond ASCII are hashed as their UTF-8 text, verbatim',
    proves: ['RUN-5'],
    async run(bench) {
      for (const [runId, stepId] of [
        ['bestellung-ü', 'schritt-é'],
        ['run-🌊', 'e\u0301tape'],
        ['日本', ' padded '],
      ] as const) {
        const event = keylessEvent(bench, {
          runId,
          eventType: 'StepCompleted',
          stepId,
          planId: 'план',
          planVersion: '一',
        });
        const preimage = `${runId}|${stepId}|1|StepCompleted|план|一`;
        const expected = createHash('sha256').update(preimage, 'utf8').digest('hex');
        expectEqual(await storedKey(bench, event), expected, `the key is the SHA-256 of ${preimage}`);
      }
    },
  }),
  runsCase({
    id: 'runs/derived-key-makes-retries-duplicates',
    title: 'events of the nine once-per-attempt types are duplicates when retried without a key',
    proves: ['RUN-5', '004 §3.2'],
    async run(bench) {
      for (const eventType of DERIVED_TYPES) {
        const runId = bench.id('run');
        const first = await bench.tenant.runs.appendEvent(keylessEvent(bench, { runId, eventType }));
        const again = await bench.tenant.runs.appendEvent(keylessEvent(bench, { runId, eventType }));
        expectEqual(
          [again.idempotent, again.runSeq],
          [true, first.runSeq],
          `a second ${eventType} of one attempt is a duplicate`,
        );
        const retry = await bench.tenant.runs.appendEvent(
          keylessEvent(bench, { runId, eventType, logicalAttemptId: 2 }),
        );
        expect(retry.persisted, `a ${eventType} of the next logical attempt is not a duplicate`);
        const engine = await bench.tenant.runs.appendEvent(
          keylessEvent(bench, { runId, eventType, engineAttemptId: 9 }),
        );
        expect(engine.idempotent, 'the engine’s own attempts are not part of the key');
      }
    },
  }),
  runsCase({
    id: 'runs/repeatable-types-are-no-duplicates',
    title: 'a second pause, resume or progress event of one attempt is a new event',
    proves: ['RUN-5'],
    async run(bench) {
      const runId = bench.id('run');
      for (const eventType of ['RunPaused', 'RunResumed', 'Progress', 'RunApproved']) {
        const event = keylessEvent(bench, { runId, eventType });
        expectEqual(await storedKey(bench, event), event.eventId, `the eventId is the key of ${eventType}`);
        const second = await bench.tenant.runs.appendEvent(keylessEvent(bench, { runId, eventType }));
        expect(second.persisted, `a second ${eventType} is stored`);
        const retry = await bench.tenant.runs.appendEvent(event);
        expect(retry.idempotent, 'the same event retried is a duplicate by its id');
      }
    },
  }),
  runsCase({
    id: 'runs/separator-in-parts-falls-back',
    title: 'parts that contain | never make two different events share a key',
    proves: ['RUN-5'],
    async run(bench) {
      const runId = bench.id('run|x');
      const one = keylessEvent(bench, { runId, eventType: 'StepStarted', stepId: 'a|1' });
      expectEqual(
        await storedKey(bench, one),
        one.eventId,
        'the eventId is the key when the formula would be ambiguous',
      );
      const two = keylessEvent(bench, { runId, eventType: 'StepStarted', stepId: 'a' });
      expect((await bench.tenant.runs.appendEvent(two)).persisted, 'the other step is a separate event');
      expectEqual((await wholeLog(bench.tenant, runId)).length, 2, 'both events are stored');
      const parts = {
        runId: 'r',
        logicalAttemptId: 1,
        eventType: 'StepStarted',
        stepId: 'a|1',
        planId: 'p',
        planVersion: '1',
      };
      await expectCode('INVALID_ARGUMENT', 'the helper refuses such parts', async () => deriveIdempotencyKey(parts));
    },
  }),
  runsCase({
    id: 'runs/version-1-keys',
    title: 'the helper derives version 1 keys without planId',
    proves: ['RUN-5', '001 §1'],
    async run() {
      const parts = { runId: 'r', stepId: 's', logicalAttemptId: 3, eventType: 'StepFailed', planVersion: '7' };
      const expected = createHash('sha256').update('r|s|3|StepFailed|7').digest('hex');
      expectEqual(deriveIdempotencyKey(parts, { version: 1 }), expected, 'version 1 is the formula without planId');
    },
  }),
];

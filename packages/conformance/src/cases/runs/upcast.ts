/** Version 1 events enter through upcastV1 and read as version 2 records (RUN-1, 001 §1). */
import { upcastV1 } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';

export const UPCAST_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/version-1-events-come-in',
    title: 'a version 1 event is stored with its own fields kept and the missing ones filled in',
    proves: ['RUN-1', '001 §1', '001 §6'],
    async run(bench) {
      const runId = bench.id('run');
      const scope = { tenantId: bench.tenantId, projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '2' };
      const v1 = {
        runId,
        runSeq: 17,
        eventId: 'legacy-1',
        stepId: 'step',
        engineAttemptId: '3',
        eventType: 'StepCompleted',
        eventData: ['rows', 7],
        idempotencyKey: 'abc123',
        emittedAt: '2025-01-01T00:00:00Z',
        adapterVersion: '1.4.0',
        engineRunRef: { workflowId: 'w' },
        causedBySignalId: '7f6f0f8e-0d0e-4f6e-9a53-3a0d6d3b3c11',
        parentEventId: '0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a',
      };
      await bench.tenant.runs.appendEvent(upcastV1(v1, scope));
      const [record] = await bench.tenant.runs.fetchEvents(runId);
      expect(record, 'the event is stored');
      const { eventId, runSeq, persistedAt: _, ...rest } = record;
      expect(
        eventId !== 'legacy-1' && runSeq !== 17,
        'an id that is not a version 4 UUID and the old sequence are replaced',
      );
      expectEqual(
        { ...rest },
        {
          ...{
            runId,
            ...scope,
            stepId: 'step',
            eventType: 'StepCompleted',
            emittedAt: v1.emittedAt,
            idempotencyKey: 'abc123',
          },
          ...{
            engineAttemptId: 3,
            logicalAttemptId: 1,
            payload: { value: ['rows', 7] },
            sourceEventId: 'legacy-1',
            sourceRunSeq: 17,
          },
          ...{ adapterVersion: '1.4.0', engineRunRef: { workflowId: 'w' } },
          ...{ causedBySignalId: v1.causedBySignalId, parentEventId: v1.parentEventId },
        },
        'attempts are numbers, data that is not an object is wrapped, and other version 1 fields are kept',
      );
      const again = await bench.tenant.runs.appendEvent(upcastV1(v1, scope));
      expectEqual(again.idempotent, true, 'upcasting it again is a duplicate by its key');
    },
  }),
  runsCase({
    id: 'runs/version-1-attempts-are-checked',
    title: 'version 1 attempts that are not numbers are rejected',
    proves: ['RUN-1', '004 §3.3'],
    async run(bench) {
      const scope = { tenantId: bench.tenantId, projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '2' };
      const v1 = {
        runId: bench.id('run'),
        eventId: 'x',
        eventType: 'T',
        idempotencyKey: 'k',
        emittedAt: '2025-01-01T00:00:00Z',
      };
      for (const logicalAttemptId of ['first', '', '0', '1.5', '-1', ' 1']) {
        await expectCode('INVALID_ARGUMENT', `attempt ${JSON.stringify(logicalAttemptId)} is not a number`, async () =>
          upcastV1({ ...v1, logicalAttemptId }, scope),
        );
      }
    },
  }),
];

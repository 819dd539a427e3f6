/** A minimal event for the engines' tests. */
import { randomUUID } from 'node:crypto';
import type { RunEventInput } from '@tidemark/core';

export function runEvent(
  runId: string,
  key: string = randomUUID(),
  payload: RunEventInput['payload'] = { key },
): RunEventInput {
  return {
    eventId: randomUUID(),
    eventType: 'Progress',
    emittedAt: '2026-01-01T00:00:00.000Z',
    runId,
    tenantId: 'default',
    projectId: 'p',
    environmentId: 'e',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    idempotencyKey: key,
    payload,
  };
}

/** Converts events of the v1 contract (document 001) to v2 (RUN-1). */
import { checkInteger } from '../checks/numbers.ts';
import { isPlainObject } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';

/** A run event in version 1 of the event contract. */
export interface RunEventV1 {
  runId: string;
  runSeq?: number;
  eventId: string;
  stepId?: string;
  engineAttemptId?: string | number;
  logicalAttemptId?: string | number;
  eventType: string;
  eventData?: unknown;
  idempotencyKey: string;
  emittedAt: string;
  persistedAt?: string;
  adapterVersion?: string;
  engineRunRef?: unknown;
  causedBySignalId?: string;
  parentEventId?: string;
}

/** The fields of a run that version 1 events do not have. */
export interface RunScope {
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
}

export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Converts a version 1 event to a version 2 event that can be appended. The idempotency key is kept, so converting and
 * appending the same event again stores it once. An id that is not a version 4 UUID is replaced by `newId()` and kept
 * as `sourceEventId`; a `runSeq` is kept as `sourceRunSeq`.
 *
 * @throws `INVALID_ARGUMENT` when an attempt id is not an integer of at least 1.
 */
export function upcastV1(
  event: RunEventV1,
  scope: RunScope,
  newId: () => string = () => crypto.randomUUID(),
): RunEventInput {
  const { eventData, runSeq, persistedAt, engineAttemptId, logicalAttemptId, eventId, ...kept } = event;
  const isUuid = UUID_V4.test(eventId);
  return {
    ...kept,
    ...scope,
    eventId: isUuid ? eventId : newId(),
    ...(isUuid ? {} : { sourceEventId: eventId }),
    engineAttemptId: attempt(engineAttemptId, 'engineAttemptId'),
    logicalAttemptId: attempt(logicalAttemptId, 'logicalAttemptId'),
    ...(eventData === undefined ? {} : { payload: isPlainObject(eventData) ? eventData : { value: eventData } }),
    ...(runSeq === undefined ? {} : { sourceRunSeq: runSeq }),
  };
}

function attempt(value: string | number | undefined, field: string): number {
  if (value === undefined) return 1;
  if (typeof value === 'string' && !/^[1-9][0-9]*$/.test(value))
    throw invalidArgument(field, 'a number of at least 1', value);
  return checkInteger(Number(value), field, 1);
}

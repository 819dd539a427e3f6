/** Brings events of the v1 contract (document 001) into v2 (RUN-1). */
import { checkInteger } from '../checks/numbers.ts';
import { isPlainObject } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';

/** An event as document 001 has it. */
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

/** What v1 events do not say about their run. */
export interface RunScope {
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
}

export const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * A v1 event as a v2 event to append. Its key stays, so that the same event is stored once however often it is
 * brought over; an id that is no version 4 UUID is replaced and kept as `sourceEventId`.
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

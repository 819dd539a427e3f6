/** Fills in the envelope of an event once per call, so that a retry of the write sends the same event (GEN-11). */
import { timeText } from '../checks/numbers.ts';
import { isPlainObject } from '../checks/text.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import { DEFAULT_TENANT } from './view.ts';

/** The default project, environment and plan of an event. */
const DEFAULT_NAME = 'default';
const DEFAULT_PLAN_VERSION = '1';

/** Generates ids and times for new events. */
export interface Stamps {
  uuid(): string;
  clock(): number;
}

/**
 * Fills in every missing field of the envelope. Returns the same object if none is missing. Does not change invalid
 * values, or a value that is not an event: the store rejects them later.
 */
export function filledEvent<T extends RunEventInput>(event: T, stamps: Stamps, tenantId: string | undefined): T {
  if (isComplete(event) || !isPlainObject(event)) return event;
  return {
    ...event,
    eventId: event.eventId === undefined ? stamps.uuid() : event.eventId,
    emittedAt: event.emittedAt === undefined ? timeText(stamps.clock()) : event.emittedAt,
    tenantId: event.tenantId === undefined ? (tenantId ?? DEFAULT_TENANT) : event.tenantId,
    projectId: event.projectId === undefined ? DEFAULT_NAME : event.projectId,
    environmentId: event.environmentId === undefined ? DEFAULT_NAME : event.environmentId,
    planId: event.planId === undefined ? DEFAULT_NAME : event.planId,
    planVersion: event.planVersion === undefined ? DEFAULT_PLAN_VERSION : event.planVersion,
    engineAttemptId: event.engineAttemptId === undefined ? 1 : event.engineAttemptId,
    logicalAttemptId: event.logicalAttemptId === undefined ? 1 : event.logicalAttemptId,
  };
}

/** Like `filledEvent`, for the events of a batch. Returns a value that is not an array unchanged. */
export function filledEvents<T extends RunEventInput>(
  events: readonly T[],
  stamps: Stamps,
  tenantId: string | undefined,
): readonly T[] {
  if (!Array.isArray(events) || events.every(isComplete)) return events;
  return events.map((event) => filledEvent(event, stamps, tenantId));
}

function isComplete(event: Partial<RunEventInput> | null | undefined): boolean {
  return (
    event?.eventId !== undefined &&
    event.emittedAt !== undefined &&
    event.tenantId !== undefined &&
    event.projectId !== undefined &&
    event.environmentId !== undefined &&
    event.planId !== undefined &&
    event.planVersion !== undefined &&
    event.engineAttemptId !== undefined &&
    event.logicalAttemptId !== undefined
  );
}

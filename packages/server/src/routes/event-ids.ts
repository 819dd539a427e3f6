/**
 * Decides which events in requests may get an `eventId` from the store: only events with an idempotency key. A retried
 * request would store an event with neither an id nor a key twice (GEN-11).
 */
import { isTidemarkError, type RunEventInput } from '@tidemark/core';
import { eventRefusal } from '@tidemark/core/engine';
import { isPlainObject } from '@tidemark/core/portable';

const RULE = 'a version 4 UUID, unless the event has an idempotencyKey or the request an Idempotency-Key header';

/** Whether the store would create an id for the event although it could not recognise a retry. */
function isUnidentified(event: RunEventInput): boolean {
  return isPlainObject(event) && event.eventId === undefined && event.idempotencyKey === undefined;
}

/**
 * Appends events. An event without an id or a key gets `null` as its id, so that the store refuses it together with the
 * other faults of the request.
 */
export async function appendIdentified<T>(
  events: readonly RunEventInput[],
  append: (events: readonly RunEventInput[]) => Promise<T>,
): Promise<T> {
  if (!events.some(isUnidentified)) return append(events);
  const refused = events.map((event) => (isUnidentified(event) ? ({ ...event, eventId: null } as never) : event));
  return append(refused).catch((error: unknown) => {
    throw namingBothWays(error);
  });
}

function namingBothWays(error: unknown): unknown {
  if (!isTidemarkError(error) || !error.errors?.some(({ field }) => field === 'eventId')) return error;
  const errors = error.errors.map((fault) => (fault.field === 'eventId' ? { ...fault, rule: RULE } : fault));
  if (error.field !== 'eventId') return Object.assign(error, { errors });
  return eventRefusal(error.code, `eventId must be ${RULE}`, errors);
}

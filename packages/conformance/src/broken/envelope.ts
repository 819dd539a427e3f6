/** Stores with faulty envelopes: fields that are not filled in, ids that change, faults that are hidden. */
import { randomUUID } from 'node:crypto';
import { isTidemarkError, type RunEventInput, TidemarkError } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

/** Changes the error of a call. */
function failingWith<T>(call: Promise<T>, change: (error: TidemarkError) => TidemarkError): Promise<T> {
  return call.catch((error: unknown) => {
    throw isTidemarkError(error) ? change(error) : error;
  });
}

export const BROKEN_ENVELOPES: readonly BrokenStore[] = [
  broken('envelope-required', 'requires the producer to send an eventId', 'runs/envelope-is-filled', {
    runs: (runs) => ({
      appendEvent: (event, options) => runs.appendEvent({ eventId: null as never, ...event }, options),
    }),
  }),
  broken('tenant-of-nobody', 'stores events without a tenant in default, even in a view', 'runs/envelope-is-filled', {
    runs: (_, whole) => ({ appendEvent: (event, options) => whole.runs.appendEvent(event, options) }),
  }),
  broken('batch-shares-an-id', 'fills in the same eventId for all events of a batch', 'runs/envelope-is-filled', {
    runs: (runs) => ({
      appendEvents: (events, options) => {
        const eventId = randomUUID();
        return runs.appendEvents(
          events.map((event) => ({ eventId, ...event })),
          options,
        );
      },
    }),
  }),
  broken(
    'ids-of-one-attempt',
    'carries the write as it was called, so that its retry gets a new eventId',
    'runs/retried-write-keeps-its-ids',
    {
      runs: (runs) => ({
        appendEvent: (event: RunEventInput, options) =>
          failingWith(runs.appendEvent(event, options), (error) =>
            error.write ? Object.assign(error, { write: { ...error.write, args: [event] } }) : error,
          ),
      }),
    },
  ),
  broken('first-fault-only', 'reports only the first fault of an event', 'runs/faults-are-reported-together', {
    runs: (runs) => ({
      appendEvent: (event, options) =>
        failingWith(runs.appendEvent(event, options), ({ code, message, field, rule }) => {
          return new TidemarkError(code, message, { field, rule, errors: [{ field: field!, rule: rule! }] });
        }),
    }),
  }),
  broken('handle-drops-options', 'ignores expectedSeq of a handle', 'runs/handle-takes-append-options', {
    runs: (runs) => ({
      handle: (runId: string, defaults?: object) => {
        const handle = runs.handle(runId, defaults);
        const append: typeof handle.append = (type, payload, { expectedSeq: _, ...fields } = {}) =>
          handle.append(type, payload, fields);
        return { ...handle, append } as never;
      },
    }),
  }),
];

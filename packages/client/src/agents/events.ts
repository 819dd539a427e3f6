/** Runtime events by trace, over HTTP. */
import {
  checkObject,
  checkOptionalId,
  type EventCapability,
  invalidArgument,
  type StoredEvent,
  type StoreLimits,
} from '@tidemark/core/portable';
import type { Transport } from '../transport.ts';
import { bodyOf } from '../wire/bodies.ts';
import { collect } from './collect.ts';

const PATH = '/v1/flow-events';
const MAX_BATCH = 1_000;

export function httpEvents(transport: Transport, limits: StoreLimits): EventCapability {
  const encode = (event: StoredEvent, path: string) => {
    checkObject(event, path || 'event');
    return bodyOf(event, limits.eventPayloadBytes, path === '' ? '' : `${path}.`);
  };
  const events: EventCapability = {
    async saveEvent(event, options) {
      const write = { method: 'saveEvent', args: [event] };
      await transport.call({ method: 'POST', path: PATH, body: encode(event, ''), write }, options);
    },

    async saveEvents(events, options) {
      if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events ?? null);
      if (events.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, events.length);
      const body = `[${events.map((event, index) => encode(event, `events[${index}]`)).join()}]`;
      if (events.length === 0) return;
      const write = { method: 'saveEvents', args: [events] };
      await transport.call({ method: 'POST', path: PATH, body, write }, options);
    },

    async loadHistory(traceId, options) {
      return collect(events.readHistory(traceId, options));
    },

    async *readHistory(traceId, options) {
      const query = { traceId: checkOptionalId(traceId, 'traceId') ?? undefined };
      yield* transport.lines<StoredEvent>({ method: 'GET', path: PATH, query }, options);
    },
  };
  return events;
}

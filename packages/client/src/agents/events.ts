/** Runtime events, by trace, over HTTP. */
import {
  checkObject,
  checkOptionalId,
  type EventCapability,
  invalidArgument,
  type StoredEvent,
  type StoreLimits,
} from '@tidemark/core/portable';
import { bodyOf, targetOf } from '@tidemark/wire';
import type { Transport } from '../transport.ts';
import { collect } from './collect.ts';

const MAX_BATCH = 1_000;

export function httpEvents(transport: Transport, limits: StoreLimits): EventCapability {
  const encode = (event: StoredEvent, path: string) => {
    checkObject(event, path || 'event');
    return bodyOf(event, limits.eventPayloadBytes, path === '' ? '' : `${path}.`);
  };
  const events: EventCapability = {
    async saveEvent(event, options) {
      const write = transport.writeOf('agents', 'saveEvent', [event, options]);
      await transport.call({ ...targetOf('POST /v1/flow-events'), body: encode(event, ''), write }, options);
    },

    async saveEvents(events, options) {
      if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events ?? null);
      if (events.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, events.length);
      const body = `[${events.map((event, index) => encode(event, `events[${index}]`)).join()}]`;
      if (events.length === 0) return;
      const write = transport.writeOf('agents', 'saveEvents', [events, options]);
      await transport.call({ ...targetOf('POST /v1/flow-events'), body, write }, options);
    },

    async loadHistory(traceId, options) {
      return collect(events.readHistory(traceId, options));
    },

    async *readHistory(traceId, options) {
      const query = { traceId: checkOptionalId(traceId, 'traceId') ?? undefined };
      yield* transport.lines<StoredEvent>({ ...targetOf('GET /v1/flow-events'), query }, options);
    },
  };
  return events;
}

/** Runtime events, by trace, over HTTP. */
import { checkObject, type EventCapability, invalidArgument } from '@tidemark/core/portable';
import { bodyOf, targetOf } from '@tidemark/wire';
import type { FormsOf } from '../calls.ts';
import type { Transport } from '../transport.ts';

export const EVENT_FORMS = {
  saveEvent: { route: 'POST /v1/flow-events', takes: [['event', '*'], ['options?']] },
  readHistory: { route: 'GET /v1/flow-events', takes: ['traceId', ['options?']], streams: 'lines' },
  loadHistory: { route: 'GET /v1/flow-events', takes: ['traceId', ['options?']], streams: 'collected' },
} as const satisfies FormsOf<'agents'>;

export function savingEvents(transport: Transport): EventCapability['saveEvents'] {
  return async (events, options) => {
    if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events ?? null);
    const texts = events.map((event, at) =>
      bodyOf(checkObject(event, `events[${at}]`), transport.limits.documentBytes, `events[${at}].`),
    );
    if (events.length === 0) return;
    const write = transport.writeOf('agents', 'saveEvents', [events, options]);
    await transport.call({ ...targetOf('POST /v1/flow-events'), body: `[${texts.join()}]`, write }, options);
  };
}

/** Runtime events by trace: idempotent by event id or by all fields, read in order of `ts`, then insertion (AGT-2). */

import { Damage } from '../checks/damage.ts';
import { encodeJsonObject } from '../checks/json.ts';
import { checkFinite } from '../checks/numbers.ts';
import { checkId, checkObject, checkOptionalId } from '../checks/text.ts';
import type { EventCapability, StoredEvent } from '../contracts/agents.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { EventEngine, FlowEventRow } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { boundedItems, collectPages } from '../tools/paging.ts';
import { eventIdentity } from './fingerprint.ts';

const MAX_BATCH = 1_000;

/** Creates the event capability of one tenant. */
export function createEvents(context: StoreContext, engine: EventEngine, tenantId: string): EventCapability {
  return {
    async saveEvent(event, options) {
      const row = prepareEvent(context, tenantId, event, '');
      const write = context.writeOf('agents', 'saveEvent', [event, options]);
      await context.write(options, write, (call) => engine.append(tenantId, [row], call));
    },

    async saveEvents(events, options) {
      if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events ?? null);
      if (events.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, events.length);
      const rows = events.map((event, index) => prepareEvent(context, tenantId, event, `events[${index}]`));
      if (rows.length === 0) return;
      const write = context.writeOf('agents', 'saveEvents', [events, options]);
      await context.write(options, write, (call) => engine.append(tenantId, rows, call));
    },

    async loadHistory(traceId, options) {
      const trace = checkOptionalId(traceId, 'traceId');
      const rows = await context.read(options, (call) => collectPages(engine.read(tenantId, trace, call)));
      return rows.map((row) => eventOf(context, tenantId, row));
    },

    async *readHistory(traceId, options) {
      const trace = checkOptionalId(traceId, 'traceId');
      const damage = new Damage();
      for await (const row of boundedItems(context, options, (call) => engine.read(tenantId, trace, call))) {
        const event = damage.attempt(() => eventOf(context, tenantId, row));
        if (event) yield event;
      }
      damage.report();
    },
  };
}

function prepareEvent(context: StoreContext, tenantId: string, event: StoredEvent, path: string): FlowEventRow {
  checkObject(event, path || 'event');
  const field = (name: string) => (path === '' ? name : `${path}.${name}`);
  const traceId = checkOptionalId(event.traceId, field('traceId'));
  const ts = checkFinite(event.ts, field('ts'));
  const kind = checkId(event.kind, field('kind'));
  const nodeName = checkOptionalId(event.nodeName, field('nodeName'));
  const nodeId = checkOptionalId(event.nodeId, field('nodeId'));
  const eventId = checkOptionalId(event.eventId, field('eventId'));
  const text = encodeJsonObject(event.payload, field('payload'), context.limits.eventPayloadBytes);
  const id = eventIdentity(eventId, [traceId, ts, kind, nodeName, nodeId, event.payload]);
  const row = { traceId, id, ts, kind, nodeName, nodeId, eventId };
  const payload = context.payloads.encode(text, eventContext(tenantId, row), summedFields(row));
  return { ...row, payload };
}

/** Serialises a row's fields other than its payload, for the checksum over both. */
export function summedFields({ ts, kind, nodeName, nodeId, eventId }: Omit<FlowEventRow, 'payload'>): string {
  return JSON.stringify([ts, kind, nodeName, nodeId, eventId]);
}

/** Trace ids are never empty, so the owner `''` of events without a trace is unique (GEN-5). */
function eventContext(tenantId: string, { traceId, id }: Pick<FlowEventRow, 'traceId' | 'id'>): PayloadContext {
  return { tenantId, kind: 'flow-event', owner: traceId ?? '', item: id };
}

function eventOf(context: StoreContext, tenantId: string, row: FlowEventRow): StoredEvent {
  return {
    traceId: row.traceId,
    ts: row.ts,
    kind: row.kind,
    nodeName: row.nodeName,
    nodeId: row.nodeId,
    payload: context.payloads.decode(row.payload, eventContext(tenantId, row), summedFields(row)),
    ...(row.eventId === null ? {} : { eventId: row.eventId }),
  };
}

/** Planner events by trace, in order of arrival: idempotent by event id or by all fields (AGT-10). */

import { Damage } from '../checks/damage.ts';
import { checkJsonObject, encodeJsonMembers } from '../checks/json.ts';
import { checkFinite, checkInteger } from '../checks/numbers.ts';
import { checkId, checkObject, checkOptionalId } from '../checks/text.ts';
import type { PlannerEvent, PlannerEventCapability } from '../contracts/agents.ts';
import type { PlannerEventEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { boundedItems, collectPages } from '../tools/paging.ts';
import { eventIdentity } from './fingerprint.ts';

/** Creates the planner event capability of one tenant. */
export function createPlannerEvents(
  context: StoreContext,
  engine: PlannerEventEngine,
  tenantId: string,
): PlannerEventCapability {
  const plannerEventContext = (traceId: string) => ({ tenantId, kind: 'planner-event', owner: traceId }) as const;

  return {
    async savePlannerEvent(traceId, event, options) {
      checkId(traceId, 'traceId');
      const { id, text } = preparePlannerEvent(context, event);
      const row = { id, body: context.payloads.encode(text, plannerEventContext(traceId)) };
      const write = context.writeOf('agents', 'savePlannerEvent', [traceId, event, options]);
      await context.write(options, write, (call) => engine.append(tenantId, traceId, row, call));
    },

    async listPlannerEvents(traceId, options) {
      checkId(traceId, 'traceId');
      const bodies = await context.read(options, (call) => collectPages(engine.read(tenantId, traceId, call)));
      return bodies.map((body) => context.payloads.decode<PlannerEvent>(body, plannerEventContext(traceId)));
    },

    async *readPlannerEvents(traceId, options) {
      checkId(traceId, 'traceId');
      const damage = new Damage();
      for await (const body of boundedItems(context, options, (call) => engine.read(tenantId, traceId, call))) {
        const event = damage.attempt(() => context.payloads.decode<PlannerEvent>(body, plannerEventContext(traceId)));
        if (event) yield event;
      }
      damage.report();
    },
  };
}

function preparePlannerEvent(context: StoreContext, event: PlannerEvent): { id: string; text: string } {
  checkObject(event, 'event');
  checkId(event.eventType, 'eventType');
  checkFinite(event.ts, 'ts');
  checkInteger(event.trajectoryStep, 'trajectoryStep', Number.MIN_SAFE_INTEGER);
  checkOptionalId(event.nodeName, 'nodeName');
  if (event.extra !== undefined) checkJsonObject(event.extra, 'extra');
  const eventId = checkOptionalId(event.eventId, 'eventId');
  const text = encodeJsonMembers(event, 'event', context.limits.eventPayloadBytes);
  return { id: eventIdentity(eventId, [event]), text };
}

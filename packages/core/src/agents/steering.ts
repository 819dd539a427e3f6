/** Steering by session: like updates (AGT-7), with the untrusted payload stored in sanitised form (AGT-8). */
import { encodeJsonMembers, encodeJsonObject } from '../checks/json.ts';
import { checkTime } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalId } from '../checks/text.ts';
import type { SteeringCapability, SteeringEvent, SteeringEventType } from '../contracts/agents.ts';
import type { SessionItem, SessionLogEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { sanitizeSteering } from './sanitize.ts';
import { encodeItem, listSession, readSessionPage, type SessionLog } from './session-log.ts';

const TYPES: readonly SteeringEventType[] = [
  'INJECT_CONTEXT',
  'REDIRECT',
  'CANCEL',
  'PRIORITIZE',
  'PAUSE',
  'RESUME',
  'APPROVE',
  'REJECT',
  'USER_MESSAGE',
];

/** Creates the steering capability of one tenant. */
export function createSteering(context: StoreContext, engine: SessionLogEngine, tenantId: string): SteeringCapability {
  const log: SessionLog = { context, engine, tenantId, kind: 'steering' };

  return {
    async saveSteering(event, options) {
      const item = encodeItem(log, prepareSteering(context, event));
      const write = context.writeOf('agents', 'saveSteering', [event, options]);
      await context.write(options, write, (call) => engine.append(tenantId, item, call));
    },

    async listSteering(sessionId, options) {
      return listSession<SteeringEvent>(log, sessionId, options);
    },

    async listSteeringPage(sessionId, options) {
      return readSessionPage<SteeringEvent>(log, sessionId, options);
    },
  };
}

function prepareSteering(context: StoreContext, event: SteeringEvent): SessionItem {
  checkObject(event, 'event');
  const sessionId = checkId(event.sessionId, 'sessionId');
  const taskId = checkId(event.taskId, 'taskId');
  const id = checkId(event.eventId, 'eventId');
  checkOneOf(event.eventType, 'eventType', TYPES);
  checkOptionalId(event.traceId, 'traceId');
  checkOptionalId(event.source, 'source');
  checkTime(event.createdAt, 'createdAt');
  const { payload, ...rest } = event;
  if (payload !== undefined) encodeJsonObject(payload, 'payload', context.limits.documentBytes);
  const clean = payload === undefined ? rest : { ...rest, payload: sanitizeSteering(payload) };
  return { sessionId, taskId, id, body: encodeJsonMembers(clean, 'event', context.limits.documentBytes) };
}

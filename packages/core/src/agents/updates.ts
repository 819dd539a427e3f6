/** Streaming updates by session: the first write of an id wins; lists and tails never skip or repeat (AGT-7). */

import { Damage } from '../checks/damage.ts';
import { encodeJsonMembers } from '../checks/json.ts';
import { checkTime } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalId } from '../checks/text.ts';
import type { StateUpdate, UpdateCapability, UpdateType } from '../contracts/agents.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { SessionItem, SessionLogEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';
import { follow } from '../tools/live.ts';
import { checkFilter, decodeItem, encodeItem, listSession, readSessionPage, type SessionLog } from './session-log.ts';

const TYPES: readonly UpdateType[] = [
  'THINKING',
  'PROGRESS',
  'TOOL_CALL',
  'RESULT',
  'ERROR',
  'CHECKPOINT',
  'STATUS_CHANGE',
  'NOTIFICATION',
];
const TAIL_PAGE = 500;

/** Creates the update capability of one tenant. */
export function createUpdates(context: StoreContext, engine: SessionLogEngine, tenantId: string): UpdateCapability {
  const log: SessionLog = { context, engine, tenantId, kind: 'update' };

  return {
    async saveUpdate(update, options) {
      const item = encodeItem(log, prepareUpdate(context, update));
      const write = context.writeOf('agents', 'saveUpdate', [update, options]);
      await context.write(options, write, (call) => engine.append(tenantId, item, call));
    },

    async listUpdates(sessionId, options) {
      return listSession<StateUpdate>(log, sessionId, options);
    },

    async listUpdatesPage(sessionId, options) {
      return readSessionPage<StateUpdate>(log, sessionId, options);
    },

    async *tailUpdates(sessionId, options) {
      checkId(sessionId, 'sessionId');
      const range = { ...checkFilter(options ?? {}), limit: TAIL_PAGE };
      const readPage = async (reading: CallOptions) => {
        const { items } = await context.read(reading, (call) => engine.page(tenantId, sessionId, range, call));
        range.sinceId = items.at(-1)?.id ?? range.sinceId;
        return items;
      };
      for await (const item of follow(context, options, readPage, (call) => engine.wait(tenantId, sessionId, call))) {
        const damage = new Damage();
        const update = damage.attempt(() => decodeItem<StateUpdate>(log, sessionId, item));
        if (update) yield update;
        // Only warns, because a tail has no end at which to fail, and later updates must not wait for a repair.
        else process.emitWarning(`A tail left out the damaged update ${damage.names[0]}`, 'TidemarkDamage');
      }
    },
  };
}

function prepareUpdate(context: StoreContext, update: StateUpdate): SessionItem {
  checkObject(update, 'update');
  const sessionId = checkId(update.sessionId, 'sessionId');
  const taskId = checkId(update.taskId, 'taskId');
  const id = checkId(update.updateId, 'updateId');
  checkOneOf(update.updateType, 'updateType', TYPES);
  checkOptionalId(update.traceId, 'traceId');
  checkTime(update.createdAt, 'createdAt');
  const body = encodeJsonMembers(update, 'update', context.limits.documentBytes);
  return { sessionId, taskId, id, body };
}

/**
 * Stores a pause from another store under the same id. A new id cannot be computed, because only the owner knows the
 * token (AGT-4).
 */
import { encodeReason } from '../agents/pause-reason.ts';
import { encodeJsonObject } from '../checks/json.ts';
import { checkTime } from '../checks/numbers.ts';
import { checkId, checkObject, checkOptionalId } from '../checks/text.ts';
import type { AdminStore } from '../contracts/admin.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { PauseEngine } from '../engine/agents.ts';
import type { StoreContext } from '../tools/context.ts';

const PAUSE_ID = /^[0-9a-f]{64}$/;

type CarriedPause = Parameters<AdminStore['putPause']>[0];

export async function putPause(
  context: StoreContext,
  engine: PauseEngine,
  tenantId: string,
  pause: CarriedPause,
  options: CallOptions | undefined,
): Promise<boolean> {
  const { pauseId } = checkObject(pause, 'pause') as unknown as CarriedPause;
  if (!PAUSE_ID.test(checkId(pauseId, 'pause.pauseId')))
    throw invalidArgument('pause.pauseId', '64 hex digits', pauseId);
  const ttlMs = Date.parse(checkTime(pause.expiresAt, 'pause.expiresAt')) - context.clock();
  const about = {
    pauseId,
    ttlMs,
    sessionId: checkOptionalId(pause.sessionId, 'pause.sessionId'),
    taskId: checkOptionalId(pause.taskId, 'pause.taskId'),
  };
  const write = context.writeOf('admin', 'putPause', [pause, { tenantId }]);
  if (pause.state === 'consumed') {
    if (ttlMs <= 0) return false;
    return context.write(options, write, (call) => engine.bury(tenantId, { ...about, reason: null }, call));
  }
  const text = encodeJsonObject(pause.payload, 'pause.payload', context.limits.documentBytes);
  if (ttlMs <= 0) return false;
  const row = {
    ...about,
    payload: context.payloads.encode(text, { tenantId, kind: 'pause', owner: pauseId }),
    reason: encodeReason(context, tenantId, pauseId, Object(pause.payload).reason),
  };
  return (await context.write(options, write, (call) => engine.save(tenantId, row, call))) === 'saved';
}

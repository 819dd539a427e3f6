/** Reads pauses and their decisions. Only metadata is read, because reading metadata never consumes a pause. */
import type { PauseInfo, SteeringEvent } from '@tidemark/core/portable';
import { type Reading, readUpTo } from '../live/pages.ts';
import type { Tenant } from '../live/tenant.ts';
import { listPauses, listSteering } from './api.ts';

const PAGE = 1_000;
const MAX_PAUSES = 5_000;
const MAX_STEERING = 10_000;

/** The decision on each pause, by pause id. */
export type Decisions = ReadonlyMap<string, SteeringEvent>;

/** Reads pauses that have not expired. The pause that expires next comes first. */
export async function readPauses(
  sessionId: string | undefined,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Reading<PauseInfo>> {
  const read = (cursor: string | undefined) => listPauses({ cursor, limit: PAGE, sessionId }, tenant, signal);
  const reading = await readUpTo(MAX_PAUSES, read);
  reading.items.sort((a, b) => Date.parse(a.expiresAt) - Date.parse(b.expiresAt));
  return reading;
}

/** Reads the decisions on pauses, with one request for the steering of each waiting task. */
export async function readDecisions(
  pauses: readonly PauseInfo[],
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Decisions> {
  const waiting = pauses.filter(isOpen).filter(canBeAnswered);
  const tasks = new Map(waiting.map((pause) => [JSON.stringify([pause.sessionId, pause.taskId]), pause]));
  const logs = await Promise.all(
    [...tasks.values()].map(({ sessionId, taskId }) =>
      listSteering(sessionId, { taskId, limit: MAX_STEERING }, tenant, signal),
    ),
  );
  return decisionsIn(logs.flatMap((log) => log.items));
}

export function isOpen({ state }: PauseInfo): boolean {
  return state !== 'consumed';
}

/** Whether a pause can be answered, which requires a session and a task that receive the answer. */
export function canBeAnswered(pause: PauseInfo): pause is PauseInfo & { sessionId: string; taskId: string } {
  return pause.sessionId !== undefined && pause.taskId !== undefined;
}

function decisionsIn(steering: readonly SteeringEvent[]): Decisions {
  const decisions = new Map<string, SteeringEvent>();
  for (const event of steering) {
    const pauseId = event.payload?.pauseId;
    const decides = event.eventType === 'APPROVE' || event.eventType === 'REJECT';
    if (decides && typeof pauseId === 'string') decisions.set(pauseId, event);
  }
  return decisions;
}

/** Pauses that expire soon and are either unanswered, or answered but not resumed. */
import type { PauseInfo, SteeringEvent } from '@tidemark/core/portable';
import { isOpen, readDecisions, readPauses } from '../agents/pauses.ts';
import type { Tenant } from '../live/tenant.ts';
import { tidemarkLine } from '../parts/command-line.tsx';
import { durationText } from '../parts/durations.ts';
import { hrefOf } from '../shell/router.ts';
import type { Concern } from './concern.ts';

const SOON_MS = 15 * 60_000;

export async function pauseConcerns(tenant: Tenant, signal: AbortSignal): Promise<Concern[]> {
  const { items } = await readPauses(undefined, tenant, signal);
  const expiring = items.filter((pause) => isOpen(pause) && Date.parse(pause.expiresAt) - Date.now() < SOON_MS);
  const decisions = await readDecisions(expiring, tenant, signal);
  return expiring.map((pause) => concernOf(pause, decisions.get(pause.pauseId), tenant));
}

function concernOf(pause: PauseInfo, decision: SteeringEvent | undefined, tenant: Tenant): Concern {
  const { pauseId, reason, sessionId, expiresAt, createdAt } = pause;
  const left = Date.parse(expiresAt) - Date.now();
  const answered = decision?.eventType === 'APPROVE' ? 'approved' : 'rejected';
  const segments = sessionId === undefined ? ['pauses'] : ['sessions', sessionId];
  return {
    id: `pause ${tenant} ${pauseId}`,
    title: reason ?? `pause ${pauseId.slice(0, 8)}`,
    detail: [sessionId, tenant].filter(Boolean).join(' · '),
    href: hrefOf(segments, { tenant, tab: sessionId === undefined ? undefined : 'pauses' }),
    tone: 'warn',
    why: decision
      ? `It was ${answered}, but the task has not been resumed.`
      : `It has not been answered for ${durationText(Math.max(0, Date.now() - Date.parse(createdAt)))}.`,
    next:
      left > 0
        ? `It expires in ${durationText(left)}; the task can then no longer be resumed from it.`
        : 'It has expired: the task can no longer be resumed from it.',
    command: tidemarkLine('pauses approve', [pauseId.slice(0, 16)], tenant),
  };
}

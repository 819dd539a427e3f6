/** Finds sessions by a part of their id, and pauses by the start of their id. */
import type { Finding } from '../shell/finding.ts';
import { hrefOf } from '../shell/router.ts';
import { currentTenant } from '../shell/tenant-box.tsx';
import { listPauses, listSessions } from './api.ts';

const PAGE = { cursor: undefined, limit: 1_000 };
const MOST = 6;
const MIN_PAUSE_ID_LENGTH = 4;

export async function findSessions(text: string, signal: AbortSignal): Promise<Finding[]> {
  const tenant = currentTenant();
  const { items } = await listSessions(PAGE, tenant, signal);
  const similar = items.filter(({ sessionId }) => sessionId.toLowerCase().includes(text.toLowerCase()));
  return similar.slice(0, MOST).map(({ sessionId }) => ({
    kind: 'session',
    icon: 'sessions',
    title: sessionId,
    href: hrefOf(['sessions', sessionId], { tenant }),
  }));
}

export async function findPauses(text: string, signal: AbortSignal): Promise<Finding[]> {
  if (text.length < MIN_PAUSE_ID_LENGTH || !/^[0-9a-f]+$/.test(text)) return [];
  const tenant = currentTenant();
  const { items } = await listPauses(PAGE, tenant, signal);
  const begun = items.filter(({ pauseId }) => pauseId.startsWith(text));
  return begun.slice(0, MOST).map(({ pauseId, reason, sessionId }) => ({
    kind: 'pause',
    icon: 'pauses',
    title: reason ?? pauseId.slice(0, 16),
    ...(sessionId !== undefined && { detail: sessionId }),
    href:
      sessionId === undefined
        ? hrefOf(['pauses'], { tenant })
        : hrefOf(['sessions', sessionId], { tenant, tab: 'pauses' }),
  }));
}

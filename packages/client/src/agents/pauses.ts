/** Pause tokens over HTTP. The token is sent only in bodies, and errors do not contain it. */
import type { FormsOf } from '../calls.ts';

export const PAUSE_FORMS = {
  savePlannerState: {
    route: 'POST /v1/pauses',
    takes: ['token', 'payload', ['options?', 'ttl', 'sessionId', 'taskId']],
  },
  loadPlannerState: {
    route: 'POST /v1/pauses/load',
    takes: ['token', ['options?', 'requestId']],
    mints: 'requestId',
  },
  claimPause: {
    route: 'POST /v1/pauses/claim',
    takes: ['token', ['options?', 'lease', 'requestId']],
    mints: 'requestId',
    answer: 'claim',
  },
  confirmPause: { route: 'POST /v1/pauses/confirm', takes: ['token', 'claimId', ['options?']] },
  releasePause: { route: 'POST /v1/pauses/release', takes: ['token', 'claimId', ['options?']] },
  peekPause: { route: 'POST /v1/pauses/peek', takes: ['token', ['options?']], reads: true, finds: true },
  listPauses: { route: 'GET /v1/pauses', takes: [['options?', 'limit', 'cursor', 'sessionId']] },
} as const satisfies FormsOf<'agents'>;

/** Checks whether the server responds: often during an outage, rarely on views without a live stream. */
import { ask } from './http.ts';
import { downSince } from './outage.ts';
import { liveState } from './stream.ts';

const OUTAGE_MS = 2_000;
const IDLE_MS = 15_000;

let lastAt = Date.now();
let isAsking = false;

/** Checks immediately. `request` records whether the server responded. */
export async function askPulse(): Promise<void> {
  if (isAsking) return;
  isAsking = true;
  await ask('GET /healthz').catch(() => {});
  lastAt = Date.now();
  isAsking = false;
}

export function startPulse(): void {
  setInterval(() => {
    if (document.hidden) return;
    const isDue = Date.now() - lastAt >= IDLE_MS && liveState.value === 'static';
    if (downSince.value !== null || isDue) void askPulse();
  }, OUTAGE_MS);
}

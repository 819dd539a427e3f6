/** When the reader was last here: what failed since then is news. A tab keeps its answer for as long as it is open. */
import { signal } from '@preact/signals';

const LAST_SEEN = 'tidemark.last-seen';
const SINCE = 'tidemark.since';

/** Milliseconds since the epoch. Who comes for the first time has missed nothing. */
export const newsSince = signal(storedSince());

function storedSince(): number {
  const stored = sessionStorage.getItem(SINCE) ?? localStorage.getItem(LAST_SEEN);
  const since = Number(stored ?? Number.NaN);
  return Number.isNaN(since) ? Date.now() : since;
}

/** The reader is looking. */
export function noteVisit(): void {
  sessionStorage.setItem(SINCE, String(newsSince.value));
  localStorage.setItem(LAST_SEEN, String(Date.now()));
}

/** What was news has been seen. */
export function markSeen(): void {
  newsSince.value = Date.now();
  noteVisit();
}

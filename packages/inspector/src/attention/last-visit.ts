/** The time of the reader's last visit, to show the failures since then. A tab keeps its value while it is open. */
import { signal } from '@preact/signals';

const LAST_SEEN = 'tidemark.last-seen';
const SINCE = 'tidemark.since';

/** The time of the last visit in milliseconds since the epoch. On the first visit, the current time. */
export const newsSince = signal(storedSince());

function storedSince(): number {
  const stored = sessionStorage.getItem(SINCE) ?? localStorage.getItem(LAST_SEEN);
  const since = Number(stored ?? Number.NaN);
  return Number.isNaN(since) ? Date.now() : since;
}

/** Stores the time of this visit. */
export function noteVisit(): void {
  sessionStorage.setItem(SINCE, String(newsSince.value));
  localStorage.setItem(LAST_SEEN, String(Date.now()));
}

/** Marks everything up to now as seen. */
export function markSeen(): void {
  newsSince.value = Date.now();
  noteVisit();
}

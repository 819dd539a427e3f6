/** Tracks whether the server responds, since when it has not, and what to read again once it does. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** When the server stopped responding, in milliseconds since the epoch; `null` while it responds. */
export const downSince = signal<number | null>(null);

const listeners = new Set<() => void>();

/** Records that a request got no response. */
export function noteSilence(): void {
  downSince.value ??= Date.now();
}

/** Records that the server responded. After an outage, calls all listeners that wait for its end. */
export function noteAnswer(): void {
  if (downSince.value === null) return;
  downSince.value = null;
  for (const listener of [...listeners]) listener();
}

/** Calls the listener whenever an outage ends. Returns a function that unsubscribes. */
export function onRecovery(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Calls `read` when an outage ends, while `isFailed` is true. For reads only, because a write must not be repeated
 * without the user's consent.
 */
export function useRecovery(isFailed: boolean, read: (() => void) | undefined): void {
  useEffect(() => (isFailed && read ? onRecovery(read) : undefined), [isFailed, read]);
}

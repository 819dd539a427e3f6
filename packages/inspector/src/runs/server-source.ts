/** Reads a run from the server. */
import { fetchEvents, headSeq, type RunName, snapshotAt } from './api.ts';
import type { RunSource } from './source.ts';

export function serverSource(run: RunName): RunSource {
  return {
    head: (signal) => headSeq(run, signal),
    read: (afterSeq, limit, signal) => fetchEvents(run, afterSeq, limit, signal),
    snapshot: (atSeq, signal) => snapshotAt(run, atSeq, signal),
  };
}

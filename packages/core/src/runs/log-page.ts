/** Reads a page of a run's log together with the events needed to check its first link (RUN-17). */
import type { CommitEnd, LogPage, StoredRunEvent } from '../engine/runs.ts';

/** Returns up to `limit` events of a run after a sequence, in order. */
export type ReadEvents = (afterSeq: number, limit: number) => StoredRunEvent[] | Promise<StoredRunEvent[]>;

/**
 * Reads a page and one extra event with a single read. A second read is needed only if the page starts inside a commit.
 */
export async function readLogPage(read: ReadEvents, afterSeq: number, limit: number): Promise<LogPage> {
  const { before, events } = await readWithBefore(read, afterSeq, limit);
  const first = events[0];
  if (!first || first.commitIndex === 1) return { events, lead: [], before };
  const start = first.runSeq - first.commitIndex;
  const lead = await readWithBefore(read, start, first.commitIndex - 1);
  return { events, lead: lead.events, before: lead.before };
}

async function readWithBefore(
  read: ReadEvents,
  afterSeq: number,
  limit: number,
): Promise<{ before: CommitEnd | null; events: StoredRunEvent[] }> {
  if (afterSeq === 0) return { before: null, events: await read(0, limit) };
  const events = await read(afterSeq - 1, limit + 1);
  if (events[0]?.runSeq !== afterSeq) return { before: null, events: events.slice(0, limit) };
  return { before: events.shift()!, events };
}

/** How keyed engines write the head of a run into a journal, as text that a person can read, and read both head and events. */
import type { JournalEntry, JournalHead, JournalName } from '../engine/journal.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import { damagedHead, undecodable } from '../runs/chain.ts';
import { decodeEvent } from '../runs/event-forms.ts';

/** Throws `CORRUPT_EVENT` for an entry that is not an event. */
export function eventIn(run: RunKey, entry: JournalEntry): StoredRunEvent {
  const event = decodeEvent(entry);
  if (event === null) throw undecodable(run, entry.seq);
  return event;
}

/** What a head keeps besides what the journal knows of it. */
export function encodeHead(head: RunHead): string {
  const { projectId, environmentId, planId, planVersion, status, labels, parentRunId } = head;
  const link = digestBytes(head.link).toString('base64');
  return JSON.stringify({ projectId, environmentId, planId, planVersion, status, labels, parentRunId, link });
}

/** Throws `CORRUPT_EVENT` for a head that cannot be decoded. */
export function decodeHead(run: RunKey, head: JournalHead): RunHead {
  const { link, ...state } = stateIn(run, head);
  return {
    ...state,
    ...run,
    seq: head.seq,
    link: Buffer.from(link, 'base64').toString('latin1'),
    createdAt: head.createdAt,
    updatedAt: head.updatedAt,
    rewrites: head.rewrites,
  };
}

type HeadState = Omit<RunHead, 'link' | 'rewrites'> & { link: string };

function stateIn(run: RunKey, head: JournalHead): HeadState {
  try {
    const state = JSON.parse(head.state) as HeadState;
    if (typeof state.link === 'string' && typeof state.labels === 'object' && state.labels !== null) return state;
  } catch {
    // Falls through: a head that does not parse is as damaged as one without its parts.
  }
  throw damagedHead(run, head.seq);
}

/** The journal of a run. */
export function nameOf(run: RunKey): JournalName {
  return { space: 'runs', tenantId: run.tenantId, name: run.runId };
}

/** The run of a journal. */
export function runOf({ tenantId, name }: JournalName): RunKey {
  return { tenantId, runId: name };
}

/** The head of a run's journal, or what stands in its place. */
export function headOf(
  name: JournalName,
  found: { head: JournalHead | null; tombstone: string | null },
): RunHead | RunTombstone | null {
  if (found.tombstone !== null) return JSON.parse(found.tombstone) as RunTombstone;
  return found.head && decodeHead(runOf(name), found.head);
}

/** Those of a journal's entries that are there, by their keys. */
export function foundBy(run: RunKey, entries: readonly (JournalEntry | null)[]): Map<string, StoredRunEvent> {
  return new Map(entries.filter((entry) => entry !== null).map((entry) => [entry.key, eventIn(run, entry)]));
}

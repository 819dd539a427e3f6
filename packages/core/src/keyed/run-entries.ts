/** How keyed engines store runs in journals: encodes heads as readable text, and decodes heads and events. */
import type { JournalEntry, JournalHead, JournalName } from '../engine/journal.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';
import { digestBase64 } from '../hash.ts';
import { damagedHead, undecodable } from '../runs/chain.ts';
import { decodeEvent } from '../runs/event-forms.ts';

/** Decodes an event. Throws `CORRUPT_EVENT` if the entry is not an event. */
export function eventFromEntry(run: RunKey, entry: JournalEntry): StoredRunEvent {
  const event = decodeEvent(entry);
  if (event === null) throw undecodable(run, entry.seq);
  return event;
}

/** Encodes the parts of a head that the journal's own head does not have. */
export function encodeHead(head: RunHead): string {
  const { projectId, environmentId, planId, planVersion, status, labels, parentRunId } = head;
  const link = digestBase64(head.link);
  return JSON.stringify({
    projectId,
    environmentId,
    planId,
    planVersion,
    status,
    labels,
    parentRunId,
    link,
    life: head.life === 1 ? undefined : head.life,
    notAfter: head.notAfter,
  });
}

/** Decodes a head. Throws `CORRUPT_EVENT` if it cannot be decoded. */
export function decodeHead(run: RunKey, head: JournalHead): RunHead {
  const { link, life = 1, ...state } = parseState(run, head);
  return {
    ...state,
    life,
    ...run,
    seq: head.seq,
    link: Buffer.from(link, 'base64').toString('latin1'),
    createdAt: head.createdAt,
    updatedAt: head.updatedAt,
    rewrites: head.rewrites,
  };
}

type HeadState = Omit<RunHead, 'link' | 'rewrites' | 'life'> & { link: string; life?: number };

function parseState(run: RunKey, head: JournalHead): HeadState {
  try {
    const state = JSON.parse(head.state) as HeadState;
    if (typeof state.link === 'string' && typeof state.labels === 'object' && state.labels !== null) return state;
  } catch {
    // A head that does not parse is treated like a head with missing parts.
  }
  throw damagedHead(run, head.seq);
}

/** Returns the name of a run's journal. */
export function nameOf(run: RunKey): JournalName {
  return { space: 'runs', tenantId: run.tenantId, name: run.runId };
}

/** Returns the run of a journal. */
export function runOf({ tenantId, name }: JournalName): RunKey {
  return { tenantId, runId: name };
}

/** Decodes the head of a run's journal, or its tombstone. */
export function headOf(
  name: JournalName,
  found: { head: JournalHead | null; tombstone: string | null },
): RunHead | RunTombstone | null {
  if (found.tombstone !== null) return JSON.parse(found.tombstone) as RunTombstone;
  return found.head && decodeHead(runOf(name), found.head);
}

/** Decodes the entries that exist, by key. */
export function eventsByKey(run: RunKey, entries: readonly (JournalEntry | null)[]): Map<string, StoredRunEvent> {
  return new Map(entries.filter((entry) => entry !== null).map((entry) => [entry.key, eventFromEntry(run, entry)]));
}

/** How keyed engines write a run's event and head into a journal: text that a person can read. */
import type { JournalEntry, JournalHead, JournalName } from '../engine/journal.ts';
import type { RunHead, RunKey, RunTombstone, StoredRedaction, StoredRunEvent } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import { damagedHead, undecodable } from '../runs/chain.ts';

/** A line of JSON for the envelope, then the payload as it is; its key, sequence and time are the journal's. */
export function encodeEvent(event: StoredRunEvent): string {
  const envelope = JSON.stringify([
    event.commitIndex,
    digestBytes(event.link).toString('base64'),
    event.eventId,
    event.eventType,
    event.emittedAt,
    event.projectId,
    event.environmentId,
    event.planId,
    event.planVersion,
    event.engineAttemptId,
    event.logicalAttemptId,
    event.stepId,
    event.extra,
    ...(event.redaction ? [event.redaction] : []),
  ]);
  return event.payload === null ? envelope : `${envelope}\n${event.payload}`;
}

type Envelope = [
  number,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  string,
  number,
  number,
  string | null,
  string | null,
  StoredRedaction?,
];

/** Throws `CORRUPT_EVENT` for an entry that is not an event. */
export function decodeEvent(run: RunKey, entry: JournalEntry): StoredRunEvent {
  const end = entry.body.indexOf('\n');
  const envelope = envelopeOf(end === -1 ? entry.body : entry.body.slice(0, end));
  if (envelope === null) throw undecodable(run, entry.seq);
  return {
    eventId: envelope[2],
    eventType: envelope[3],
    emittedAt: envelope[4],
    projectId: envelope[5],
    environmentId: envelope[6],
    planId: envelope[7],
    planVersion: envelope[8],
    engineAttemptId: envelope[9],
    logicalAttemptId: envelope[10],
    idempotencyKey: entry.key,
    stepId: envelope[11],
    extra: envelope[12],
    payload: end === -1 ? null : entry.body.slice(end + 1),
    runSeq: entry.seq,
    persistedAt: entry.time,
    commitIndex: envelope[0],
    link: Buffer.from(envelope[1], 'base64').toString('latin1'),
    ...(envelope[13] && { redaction: envelope[13] }),
  };
}

/** Texts and numbers are where they should be; whether they are the right ones, the chain tells. */
function envelopeOf(text: string): Envelope | null {
  try {
    const envelope = JSON.parse(text) as Envelope;
    const isEnvelope =
      Array.isArray(envelope) &&
      Number.isSafeInteger(envelope[0]) &&
      envelope.slice(1, 9).every((part) => typeof part === 'string');
    return isEnvelope ? envelope : null;
  } catch {
    return null;
  }
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
  return new Map(entries.filter((entry) => entry !== null).map((entry) => [entry.key, decodeEvent(run, entry)]));
}

/** Notices of the feed (RUN-22): their stored text, and the form in which readers receive them. */
import type { NoticeKind, RunNotice } from '../contracts/notices.ts';
import type { StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunTombstone, StoredNotice } from '../engine/runs.ts';

/** Returns the stored form of a notice. It contains the life of the run, unless that is life 1. */
export function encodeNotice({ kind, runSeq, life }: StoredNotice): string {
  return JSON.stringify({ kind, runSeq, life: life === 1 ? undefined : life });
}

export function decodeNotice(text: string): StoredNotice {
  return JSON.parse(text) as StoredNotice;
}

/** Returns the notice of a removal. */
export function noticeOfRemoval({ kind, life }: RunTombstone): StoredNotice {
  return { kind: kind === 'archived' ? 'archived' : 'deleted', life };
}

/** Returns a notice as readers receive it. */
export function runNotice(
  { tenantId, runId }: RunKey,
  { kind, runSeq, life = 1 }: { kind: NoticeKind; runSeq?: number; life?: number | undefined },
): RunNotice {
  return { kind, tenantId, runId, life, ...(runSeq === undefined ? {} : { runSeq }) };
}

/** A change of a quarantine that a reader has not seen yet. */
export interface QuarantineChange {
  kind: 'quarantined' | 'released';
  number: number;
  entry: StoredQuarantine;
}

/**
 * Returns the next change after `seen`: a release or, with `notices`, also a quarantine. Returns `undefined` for a
 * reader at the beginning of the feed, because its feed contains all released events.
 */
export function nextChange(
  entries: readonly StoredQuarantine[],
  seen: number | null,
  notices: boolean,
): QuarantineChange | undefined {
  if (seen === null) return undefined;
  return entries
    .flatMap((entry): QuarantineChange[] => [
      ...(notices ? [{ kind: 'quarantined' as const, number: entry.notice, entry }] : []),
      ...(entry.state === 'released' ? [{ kind: 'released' as const, number: entry.release, entry }] : []),
    ])
    .filter(({ number }) => number > seen)
    .sort((a, b) => a.number - b.number)[0];
}

/**
 * Returns the number after which a reader at the beginning continues. With `notices`, it is below the number of every
 * current quarantine, so that the reader receives their notices.
 */
export function firstNumber(newest: number, entries: readonly StoredQuarantine[], notices: boolean): number {
  const unknown = entries.filter(({ state, notice }) => notices && state === 'quarantined' && notice > 0);
  return Math.min(newest, ...unknown.map(({ notice }) => notice - 1));
}

/** Decides, without I/O, what restoring a part writes and whether a removal is allowed. Shared by all engines. */

import { laterLife } from '../checks/life.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunKey } from '../engine/run-key.ts';
import {
  isTombstone,
  type RestoredPart,
  type RunHead,
  type RunTombstone,
  type StoredRunEvent,
} from '../engine/runs.ts';
import { rewritten, seqConflict } from './append.ts';
import { hexOf } from './event-forms.ts';
import { isDeletedLife, tombstoneError } from './lives.ts';

/** The tombstone and events to write for a part. */
export interface RestorePlan {
  /** Stored instead of the head until the last part is written. */
  tombstone: RunTombstone;
  events: readonly StoredRunEvent[];
}

/** The stored state of the run that a part is restored into. */
export interface RestoreState {
  head: RunHead | RunTombstone | null;
  /** The number of events that an unfinished restore has already written. */
  restored: number;
}

/**
 * Plans the restore of a part. Returns `null` when the same run is already stored and nothing needs to be written.
 *
 * @throws `CONFLICT` when another run or history is stored or earlier parts are missing; `RUN_DELETED` for a deleted
 * run unless `overDeleted` is set.
 */
export function planRestore(
  run: RunKey,
  part: RestoredPart,
  { head, restored }: RestoreState,
  options: { now: number; overDeleted?: boolean },
): RestorePlan | null {
  if (head !== null && !isTombstone(head)) {
    if (head.seq === part.head.seq && head.link === part.head.link) return null;
    throw conflict(run, 'exists and is not the one to be restored', head.seq);
  }
  const { life } = part.head;
  if (head && isDeletedLife(head, life) && !options.overDeleted) throw tombstoneError(run.runId, head);
  // A life cannot be restored once a later life has begun, because writes that name the later life would reach it.
  if (head && (head.life ?? 1) > life)
    throw conflict(run, `is in life ${head.life}, after the one to be restored`, head.life);
  const tombstone = tombstoneFor(run, part, head, options.now);
  const there = head?.kind === 'restoring' ? restored : 0;
  const first = part.events[0]?.runSeq ?? part.head.seq;
  if (first > there + 1) throw conflict(run, `lacks the parts before event ${first}; begin with the first`, there);
  return { tombstone, events: part.events.filter((event) => event.runSeq > there) };
}

function tombstoneFor(run: RunKey, part: RestoredPart, there: RunTombstone | null, now: number): RunTombstone {
  const head = hexOf(part.head.link);
  if (there?.kind !== 'restoring') {
    const { life } = part.head;
    // If the tombstone is of another life, its `archive` and `begunBy` do not belong to this life.
    const { archive, begunBy } = (there?.life ?? 1) === life ? (there ?? {}) : ({} as Partial<RunTombstone>);
    const kept = { ...(archive === undefined ? {} : { archive }), ...(begunBy === undefined ? {} : { begunBy }) };
    return { kind: 'restoring', at: now, ...kept, ...laterLife(life), head };
  }
  if (there.head === head) return there;
  throw conflict(run, 'is being restored from another history; finish that, or delete the run', there.head);
}

function conflict({ runId }: RunKey, what: string, current: unknown): TidemarkError {
  return new TidemarkError('CONFLICT', `Run ${JSON.stringify(runId)} ${what}`, { runId, current });
}

/**
 * Whether there is something to remove.
 *
 * @throws `SEQ_CONFLICT` when the run's last sequence is not `expectedSeq`, `CONFLICT` when the run was rewritten.
 */
export function checkRemoval(
  run: RunKey,
  head: RunHead | RunTombstone | null,
  tombstone: RunTombstone,
  { expectedSeq, expectedRewrites }: { expectedSeq?: number; expectedRewrites?: number },
): boolean {
  if (isTombstone(head)) return head.kind === 'restoring' && tombstone.kind === 'deleted' && expectedSeq === undefined;
  if (head !== null && expectedSeq !== undefined && head.seq !== expectedSeq)
    throw seqConflict(run.runId, expectedSeq, head.seq);
  if (head !== null && expectedRewrites !== undefined && head.rewrites !== expectedRewrites)
    throw rewritten(run.runId, head.rewrites);
  return head !== null;
}

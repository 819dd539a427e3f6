/**
 * Decides what an append does to a run, without I/O: duplicates, fence, scope, sequence, links and the new head.
 * Engines that order writes in JavaScript (memory, SQLite, keyed ones) share it.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { CommitEnd, RunAppend, RunHead, RunTombstone, SequencedEvent, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { type ChainFormat, CommitChain, firstLinkOf, startOfLife } from './chain.ts';
import { storedEvent } from './event-forms.ts';
import { expiryOf, hasExpired, mayExpire, runExpired } from './expiry.ts';
import { laterLifeBegan, lifeOfAppend, stillAlive } from './lives.ts';
import { nextRunStatus } from './transitions.ts';

/** The rows and head to write, and the positions to return. An empty `rows` means that nothing is written. */
export interface AppendPlan {
  rows: StoredRunEvent[];
  head: RunHead;
  placed: SequencedEvent[];
  /** The chain of the commit, including these events. */
  commit: CommitChain;
}

/** The circumstances of an append. */
export interface AppendRules {
  /** The append authority's clock, read after the run was locked. */
  now: number;
  /** The chain of the commit that the events join, if earlier appends were planned for the same commit. */
  commit?: CommitChain | undefined;
  /** The format of a commit that starts with these events. */
  format: ChainFormat;
}

/**
 * Plans an append against the current head.
 *
 * @param stored stored events by idempotency key, for the keys that are already taken
 * @throws `RUN_DELETED` (for an expired run too), `RUN_ARCHIVED`, `SCOPE_MISMATCH`, `SEQ_CONFLICT`, or `CONFLICT` for a
 * life that is not current.
 */
export function planAppend(
  append: RunAppend,
  head: RunHead | RunTombstone | null,
  stored: ReadonlyMap<string, StoredRunEvent>,
  { now, commit: joined, format }: AppendRules,
): AppendPlan {
  const isGone = isTombstone(head);
  if (!isGone && head !== null && hasExpired(head, now)) throw runExpired(append.run.runId);
  const life =
    !isGone && append.life === undefined && (head === null || head.life === 1) ? 1 : lifeOfAppend(append, head, format);
  const current = isGone ? null : head;
  const persistedAt = Math.max(now, current?.updatedAt ?? 0);
  // Only several events of one append can have the same key.
  const taken = append.events.length === 1 ? null : new Map(stored);
  const rows: StoredRunEvent[] = [];
  const commit = joined?.copy() ?? new CommitChain(format, current ? endOf(current) : startOfLife(life));
  const chainFormat = commit.format === 1 ? undefined : commit.format;
  const laterLife = life === 1 ? undefined : life;
  let next =
    (current && withDeadline(current, joined === undefined)) ??
    newHead(append, persistedAt, life, isGone ? (head.rewrites ?? 0) + 1 : 0);
  const placed = append.events.map((event): SequencedEvent => {
    const duplicateOf = (taken ?? stored).get(event.idempotencyKey);
    if (duplicateOf && duplicateOf.life !== laterLife) throw laterLifeBegan(append, life, duplicateOf);
    if (duplicateOf) return sequencedEvent(duplicateOf.runSeq, duplicateOf.persistedAt, duplicateOf, laterLife);
    checkScope(append, next, event);
    const runSeq = next.seq + 1;
    const link = commit.add(event.leaf, runSeq);
    const row = storedEvent(event, runSeq, persistedAt, commit.events, link, chainFormat, laterLife);
    rows.push(row);
    taken?.set(event.idempotencyKey, row);
    next = { ...next, seq: runSeq, link, updatedAt: persistedAt, status: nextRunStatus(next.status, event.eventType) };
    return sequencedEvent(runSeq, persistedAt, null, laterLife);
  });
  if (rows.length > 0) checkFence(append, current);
  return { rows, head: next, placed, commit };
}

/**
 * Returns a head with the time before which its next commit must be stored. Appends that join a commit keep the time of
 * the commit, because the head that they continue is not stored yet.
 */
function withDeadline(head: RunHead, isFirst: boolean): RunHead {
  if (!isFirst) return head;
  const notAfter = mayExpire(head) ? (expiryOf(head) ?? undefined) : undefined;
  return notAfter === head.notAfter ? head : { ...head, notAfter };
}

function endOf({ link, updatedAt }: RunHead): CommitEnd {
  return { link, persistedAt: updatedAt };
}

function sequencedEvent(
  runSeq: number,
  persistedAt: number,
  duplicateOf: StoredRunEvent | null,
  life: number | undefined,
): SequencedEvent {
  return life === undefined ? { runSeq, persistedAt, duplicateOf } : { runSeq, persistedAt, duplicateOf, life };
}

function newHead(append: RunAppend, now: number, life: number, rewrites: number): RunHead {
  const first = append.events[0]!;
  return {
    ...append.run,
    projectId: first.projectId,
    environmentId: first.environmentId,
    planId: first.planId,
    planVersion: first.planVersion,
    status: null,
    seq: 0,
    link: firstLinkOf(life),
    createdAt: now,
    updatedAt: now,
    labels: append.labels,
    parentRunId: append.parentRunId,
    life,
    rewrites,
  };
}

function checkFence({ run, expectedSeq, life }: RunAppend, current: RunHead | null): void {
  const seq = current?.seq ?? 0;
  if (life === 'new' && current !== null) throw stillAlive(run.runId, current.life);
  if (expectedSeq !== undefined && expectedSeq !== seq) throw seqConflict(run.runId, expectedSeq, seq);
}

/** Returns the `SEQ_CONFLICT` error for a write whose `expectedSeq` is not the run's last sequence. */
export function seqConflict(runId: string, expected: number, current: number): TidemarkError {
  return new TidemarkError(
    'SEQ_CONFLICT',
    `Run ${JSON.stringify(runId)} is at sequence ${current}, not ${expected}; read what was added and decide again`,
    { current, runId },
  );
}

/** Returns the `CONFLICT` error for a write that was based on the run before a redaction, a restore or a new life. */
export function rewritten(runId: string, current: number): TidemarkError {
  return new TidemarkError(
    'CONFLICT',
    `Run ${JSON.stringify(runId)} was redacted or restored since it was read; read it again and decide again`,
    { current, runId },
  );
}

function checkScope(append: RunAppend, head: RunHead, event: { projectId: string; environmentId: string }): void {
  const field =
    event.projectId !== head.projectId
      ? 'projectId'
      : event.environmentId !== head.environmentId
        ? 'environmentId'
        : null;
  if (field === null) return;
  throw new TidemarkError(
    'SCOPE_MISMATCH',
    `Run ${JSON.stringify(append.run.runId)} belongs to ${field} ${JSON.stringify(head[field])}; its first event decided that`,
    { field, rule: 'that of the first event of the run', current: head[field], runId: append.run.runId },
  );
}

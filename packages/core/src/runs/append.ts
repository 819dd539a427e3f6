/**
 * Decides what an append does to a run, without I/O: duplicates, fence, scope, sequence, links and the new head.
 * Engines that order writes in JavaScript (memory, SQLite, keyed ones) share it.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { PlacedEvent, RunAppend, RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { Digest } from '../hash.ts';
import { FIRST_LINK, linkOf, rollOf } from './chain.ts';
import { nextRunStatus } from './transitions.ts';

/** The rows and head to write, and the positions to return. An empty `rows` means that nothing is written. */
export interface AppendPlan {
  rows: StoredRunEvent[];
  head: RunHead;
  placed: PlacedEvent[];
}

/**
 * Plans an append against the current head.
 *
 * @param stored stored events by idempotency key, for the keys that are already taken
 * @param now the append authority's clock, read after the run was locked
 * @throws `RUN_DELETED`, `RUN_ARCHIVED`, `SCOPE_MISMATCH` or `SEQ_CONFLICT`.
 */
export function planAppend(
  append: RunAppend,
  head: RunHead | RunTombstone | null,
  stored: ReadonlyMap<string, StoredRunEvent>,
  now: number,
): AppendPlan {
  if (isTombstone(head)) throw tombstoneError(append.run.runId, head);
  const persistedAt = Math.max(now, head?.updatedAt ?? 0);
  const taken = new Map(stored);
  const rows: StoredRunEvent[] = [];
  const linkBefore = head?.link ?? FIRST_LINK;
  let next = head ?? newHead(append, persistedAt);
  let roll: Digest | null = null;
  const placed = append.events.map((event): PlacedEvent => {
    const duplicateOf = taken.get(event.idempotencyKey);
    if (duplicateOf) return { runSeq: duplicateOf.runSeq, persistedAt: duplicateOf.persistedAt, duplicateOf };
    checkScope(append, next, event);
    const { leaf, ...body } = event;
    const runSeq = next.seq + 1;
    roll = rollOf(roll, leaf);
    const link = linkOf(linkBefore, roll, runSeq);
    const row: StoredRunEvent = { ...body, runSeq, persistedAt, commitIndex: rows.length + 1, link };
    rows.push(row);
    taken.set(event.idempotencyKey, row);
    next = { ...next, seq: runSeq, link, updatedAt: persistedAt, status: nextRunStatus(next.status, event.eventType) };
    return { runSeq, persistedAt, duplicateOf: null };
  });
  if (rows.length > 0) checkFence(append, head?.seq ?? 0);
  return { rows, head: next, placed };
}

function newHead(append: RunAppend, now: number): RunHead {
  const first = append.events[0]!;
  return {
    ...append.run,
    projectId: first.projectId,
    environmentId: first.environmentId,
    planId: first.planId,
    planVersion: first.planVersion,
    status: null,
    seq: 0,
    link: FIRST_LINK,
    createdAt: now,
    updatedAt: now,
    labels: append.labels,
    parentRunId: append.parentRunId,
    rewrites: 0,
  };
}

function checkFence({ run, expectedSeq }: RunAppend, current: number): void {
  if (expectedSeq !== undefined && expectedSeq !== current) throw seqConflict(run.runId, expectedSeq, current);
}

/** Returns the `SEQ_CONFLICT` error for a write whose `expectedSeq` is not the run's last sequence. */
export function seqConflict(runId: string, expected: number, current: number): TidemarkError {
  return new TidemarkError(
    'SEQ_CONFLICT',
    `Run ${JSON.stringify(runId)} is at sequence ${current}, not ${expected}; read what was added and decide again`,
    { current, runId },
  );
}

/** Returns the `CONFLICT` error for a write that was based on the run before a redaction or a restore. */
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

/** Returns the error for an append to a removed run: `RUN_DELETED` or `RUN_ARCHIVED` (RUN-15). */
export function tombstoneError(runId: string, tombstone: RunTombstone): TidemarkError {
  const name = JSON.stringify(runId);
  if (tombstone.kind === 'deleted')
    return new TidemarkError('RUN_DELETED', `Run ${name} was deleted; use a new run id`, { runId });
  const archive = tombstone.archive;
  if (tombstone.kind === 'restoring')
    return new TidemarkError('RUN_ARCHIVED', `Run ${name} is being restored; try again once it is there`, {
      runId,
      archive,
    });
  return new TidemarkError(
    'RUN_ARCHIVED',
    `Run ${name} is archived${archive ? ` at ${archive}` : ''}; restore it first`,
    { runId, archive },
  );
}

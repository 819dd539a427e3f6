/**
 * Lives of a run (RUN-18): the id of a deleted run can be reused, and writes of an earlier life never reach a later
 * one.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { RunAppend, RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';

/**
 * The lowest chain format with which a run may have several lives. Older libraries cannot open a store with it (UPG-1).
 */
const FIRST_FORMAT = 2;
/** Whether a tombstone records that this life was deleted. A tombstone does not prevent later lives. */
export function isDeletedLife(tombstone: RunTombstone, life: number): boolean {
  return tombstone.kind === 'deleted' && (tombstone.life ?? 1) >= life;
}

/**
 * Returns the life that the events of an append belong to. An append that names no life belongs to life 1.
 *
 * @throws `RUN_DELETED` for an earlier life than the current one. `CONFLICT` for a life that has not begun. For a
 * removed run, the error of its tombstone, unless the append may begin the next life.
 */
export function lifeOfAppend(append: RunAppend, head: RunHead | RunTombstone | null, format: number): number {
  if (head !== null && 'kind' in head) return lifeAfter(append, head, format);
  const { run, life = 1 } = append;
  if (head === null) {
    if (life === 'new' || life === 1) return 1;
    throw notBegun(run.runId, life, 0);
  }
  if (life === 'new' || life === head.life) return head.life;
  if (life > head.life) throw notBegun(run.runId, life, head.life);
  throw ended(run.runId, life, head.life);
}

/**
 * Returns the error for an append that found its key in a later life, because that life began after the head was read.
 */
export function laterLifeBegan({ run }: RunAppend, life: number, stored: StoredRunEvent): TidemarkError {
  return ended(run.runId, life, stored.life ?? 1);
}

function ended(runId: string, life: number, current: number): TidemarkError {
  return new TidemarkError(
    'RUN_DELETED',
    `Life ${life} of run ${JSON.stringify(runId)} was deleted; the run is in life ${current}, which appends must name`,
    { field: 'life', rule: 'the current life of the run', current, runId },
  );
}

function lifeAfter({ run: { runId }, life, events }: RunAppend, tombstone: RunTombstone, format: number): number {
  const begins = life === 'new' && tombstone.kind === 'deleted' && tombstone.begunBy !== events[0]!.eventId;
  if (!begins) throw tombstoneError(runId, tombstone);
  if (format >= FIRST_FORMAT) return (tombstone.life ?? 1) + 1;
  throw new TidemarkError(
    'UNSUPPORTED',
    'A store that an older version may still write to cannot begin a new life of a run; run `tidemark migrate up` first',
    { field: 'life', rule: 'absent until the store has the chain format 2', runId },
  );
}

function notBegun(runId: string, life: number, current: number): TidemarkError {
  return new TidemarkError(
    'CONFLICT',
    `Life ${life} of run ${JSON.stringify(runId)} has not begun; append with life: 'new' to begin the next one`,
    { field: 'life', rule: 'a life that has begun', current, runId },
  );
}

/** Returns the error for an append with `life: 'new'` to a live run that does not have its event. */
export function stillAlive(runId: string, current: number): TidemarkError {
  return new TidemarkError(
    'CONFLICT',
    `Run ${JSON.stringify(runId)} is live, in life ${current}; delete it before a new life begins, or append to this life`,
    { field: 'life', rule: "'new' only for a run that is deleted or unknown", current, runId },
  );
}

/** Returns the error for an append to a removed run: `RUN_DELETED` or `RUN_ARCHIVED` (RUN-15). */
export function tombstoneError(runId: string, tombstone: RunTombstone): TidemarkError {
  const name = JSON.stringify(runId);
  if (tombstone.kind === 'deleted')
    return new TidemarkError(
      'RUN_DELETED',
      `Run ${name} was deleted; use a new run id, or begin a new life with life: 'new'`,
      { runId },
    );
  const archive = tombstone.archive;
  if (tombstone.kind === 'restoring')
    return new TidemarkError('RUN_ARCHIVED', `Run ${name} is being restored; try again once it is complete`, {
      runId,
      archive,
    });
  return new TidemarkError(
    'RUN_ARCHIVED',
    `Run ${name} is archived${archive ? ` at ${archive}` : ''}; restore it first`,
    { runId, archive },
  );
}

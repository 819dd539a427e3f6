/**
 * Copies tombstones of runs, so that a late retry does not begin a deleted run again in the target (RUN-15). The mirror
 * removes runs that the target has. The units here create tombstones for runs that the target does not have, and
 * compare both sides.
 */
import { isTidemarkError, memoryStore, type RunPart } from '@tidemark/core';
import { type Ended, RUNS } from './groups.ts';
import { sideBySide } from './joins.ts';
import type { CopyUnit, Difference, Sides } from './unit.ts';

const REMOVAL_LIMIT_MS = 3_600_000;

export async function* removedRunUnits(sides: Sides): AsyncGenerator<CopyUnit> {
  const { from, to, tenantId } = sides;
  const lists = [RUNS.ended!({ store: from, tenantId }), RUNS.ended!({ store: to, tenantId })] as const;
  for await (const { items } of sideBySide<[Ended, Ended]>(...lists)) {
    const [ours, theirs] = items;
    if (ours) yield ours.location === null ? deletedUnit(sides, ours, theirs) : archivedUnit(sides, ours);
  }
}

function deletedUnit(sides: Sides, { id: runId, life = 1 }: Ended, theirs: Ended | null): CopyUnit {
  const { to, tenantId } = sides;
  /** Whether the target refuses appends to an ended life in the same way as the source does. */
  const isAlike = theirs !== null && theirs.location === null && (theirs.life ?? 1) >= life;
  return {
    id: runId,
    async copy() {
      if (isAlike) return { copied: 0, same: 1 };
      if (theirs !== null && theirs.location !== null) return { copied: 0, same: 0 };
      if ((await lastSeqIn(sides, runId)) > 0) return { copied: 0, same: 0 };
      await beginRun(sides, runId, life);
      await to.runs.deleteRun(runId, { tenantId, timeoutMs: REMOVAL_LIMIT_MS });
      return { copied: 1, same: 0 };
    },
    async compare() {
      if (isAlike) return null;
      if (theirs?.location === null)
        return differs(`the run was deleted in life ${life}, which the target does not know`);
      if (theirs) return differs('the run was deleted in the source, and is archived in the target');
      const isThere = (await lastSeqIn(sides, runId)) > 0;
      return differs(`the run was deleted in the source, ${isThere ? 'and is' : 'which is not known'} in the target`);
    },
  };
}

/** Compares an archived run. The target needs no tombstone of an archived run that it never had. */
function archivedUnit(sides: Sides, { id, location }: Ended): CopyUnit {
  return {
    id,
    copy: async () => ({ copied: 0, same: 0 }),
    async compare() {
      if ((await lastSeqIn(sides, id)) === 0) return null;
      return differs(`the run is archived in the source, at ${location}, and not in the target`);
    },
  };
}

function differs(reason: string): Difference {
  return { count: 1, reason };
}

/** Returns the last sequence of a run in the target, or 0 if it is missing, archived or partly restored. */
async function lastSeqIn({ to, tenantId }: Sides, runId: string): Promise<number> {
  try {
    return await to.runs.headSeq(runId, { tenantId });
  } catch (error) {
    if (isTidemarkError(error, 'RUN_ARCHIVED')) return 0;
    throw error;
  }
}

/**
 * Begins to restore a run of two events and stops after the first. Such a run is never visible, and deleting it leaves
 * the tombstone. There is no other way to create a tombstone for a run that never existed.
 */
async function beginRun({ to, tenantId }: Sides, runId: string, life: number): Promise<void> {
  const scratch = memoryStore();
  try {
    const { runs } = scratch.forTenant(tenantId);
    for (let ended = 1; ended < life; ended++) {
      await runs.handle(runId).append('Ended', {}, { life: 'new' });
      await runs.deleteRun(runId);
    }
    await runs.handle(runId).append('Removed', {}, { life: 'new' });
    await runs.handle(runId, { life }).append('Elsewhere');
    const [part] = (await Array.fromAsync(runs.exportRun(runId))) as [RunPart];
    await to.runs.restoreRun([{ ...part, events: part.events.slice(0, 1), isLast: false }]);
  } catch (error) {
    // Expected, because the parts end before the run does.
    if (!isTidemarkError(error, 'INVALID_ARGUMENT') || error.field !== 'parts') throw error;
  } finally {
    await scratch.close();
  }
}

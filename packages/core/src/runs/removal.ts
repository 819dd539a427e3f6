/**
 * Deletes and archives the current life of a run. The tombstone names the life that was read, and the removal is fenced
 * on that life: a call that stalls in between never removes a later life (RUN-15, RUN-18).
 */

import { isOfLife, laterLife } from '../checks/life.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import { isTombstone, type RunEngine, type RunHead, type RunTombstone } from '../engine/runs.ts';
import { refuseIfOver } from '../tools/contention.ts';
import { tombstoneError } from './lives.ts';
import { damageIn } from './prepare.ts';

/** A value of `expectedRewrites` that no live run has. */
const NO_LIVE_RUN = -1;

interface Removal {
  at: number;
  expectedSeq: number | undefined;
}

/** Deletes a run, or only the given life of it. Returns whether it existed. */
export async function deleteLife(
  engine: RunEngine,
  run: RunKey,
  { at, life, expectedSeq }: Removal & { life: number | undefined },
  call: EngineCall,
): Promise<boolean> {
  const deleted: RunTombstone = { kind: 'deleted', at };
  for (;;) {
    const head = await headOrDamage(engine, run, call);
    if (head === 'damaged') return engine.remove(run, deleted, Object.assign(call, { expectedSeq }));
    if (head !== null && !isOfLife(head.life, life)) return false;
    const tombstone = { ...deleted, ...laterLife(head?.life ?? 1) };
    if (head === null || isTombstone(head)) return removeRest(engine, run, tombstone, head, expectedSeq, call);
    const begunBy = await firstEventId(engine, run, call);
    const removed = await removeAsRead(engine, run, { ...tombstone, ...begunBy }, head, expectedSeq, call);
    if (removed !== 'changed') return removed;
    refuseIfOver(call);
  }
}

/**
 * Ends an unfinished restore, and removes what an interrupted removal left. Keeps a life that begins in the meantime.
 */
async function removeRest(
  engine: RunEngine,
  run: RunKey,
  tombstone: RunTombstone,
  there: RunTombstone | null,
  expectedSeq: number | undefined,
  call: EngineCall,
): Promise<boolean> {
  const begunBy = there?.begunBy === undefined ? {} : { begunBy: there.begunBy };
  const expectedRewrites = there?.kind === 'restoring' ? undefined : NO_LIVE_RUN;
  try {
    const options = Object.assign(call, { expectedSeq, expectedRewrites });
    return await engine.remove(run, { ...tombstone, ...begunBy }, options);
  } catch (error) {
    if (isTidemarkError(error, 'CONFLICT') && expectedRewrites === NO_LIVE_RUN) return false;
    throw error;
  }
}

/** Archives a run. Returns whether it existed. */
export async function archiveLife(
  engine: RunEngine,
  run: RunKey,
  { at, archive, expectedSeq, expectedRewrites }: Removal & { archive: string; expectedRewrites: number | undefined },
  call: EngineCall,
): Promise<boolean> {
  for (;;) {
    const head = await engine.head(run, call);
    if (isTombstone(head) && head.kind === 'restoring') throw tombstoneError(run.runId, head);
    const tombstone: RunTombstone = { kind: 'archived', at, archive, ...laterLife(head?.life ?? 1) };
    const isRewritten = expectedRewrites !== undefined && expectedRewrites !== head?.rewrites;
    // The engine refuses, or finds nothing to remove.
    if (head === null || isTombstone(head) || isRewritten)
      return engine.remove(run, tombstone, Object.assign(call, { expectedSeq, expectedRewrites }));
    const removed = await removeAsRead(engine, run, tombstone, head, expectedSeq, call);
    if (removed !== 'changed') return removed;
    refuseIfOver(call);
  }
}

/** Removes a run unless it was rewritten or has begun another life since its head was read. */
async function removeAsRead(
  engine: RunEngine,
  run: RunKey,
  tombstone: RunTombstone,
  { rewrites }: RunHead,
  expectedSeq: number | undefined,
  call: EngineCall,
): Promise<boolean | 'changed'> {
  try {
    return await engine.remove(run, tombstone, Object.assign(call, { expectedSeq, expectedRewrites: rewrites }));
  } catch (error) {
    if (isTidemarkError(error, 'CONFLICT')) return 'changed';
    throw error;
  }
}

/** A run whose head cannot be decoded can still be deleted. Such a run is treated as a run in life 1. */
async function headOrDamage(engine: RunEngine, run: RunKey, call: EngineCall) {
  try {
    return await engine.head(run, call);
  } catch (error) {
    if (damageIn(error)) return 'damaged';
    throw error;
  }
}

/** Returns the `eventId` that a tombstone of kind `deleted` keeps. */
export async function firstEventId(
  engine: RunEngine,
  run: RunKey,
  call: EngineCall,
): Promise<Pick<RunTombstone, 'begunBy'>> {
  try {
    const [first] = (await engine.fetch(run, 0, 1, call)).events;
    return first ? { begunBy: first.eventId } : {};
  } catch (error) {
    // The first event is damaged: a late retry of the append that stored it would begin a new life.
    if (damageIn(error)) return {};
    throw error;
  }
}

/**
 * Copies runs in their exported form, with the same sequences, times and links. If the target has only the beginning of
 * a run, the whole run replaces it. Any other history under the same id is kept and reported.
 */
import { type ExportedEvent, isTidemarkError, type RunPart, type RunSummary } from '@tidemark/core';
import { sameJson, sha256Hex } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { COPY_MARKS, REPLACING } from './marks.ts';
import { removedRunUnits } from './removed-runs.ts';
import type { CopyUnit, Difference, Sides } from './unit.ts';

/**
 * How long the mark of an interrupted copy is kept. The limit prevents a copy from restoring a run that was deleted
 * much later.
 */
const MARK_TTL = '7d';
const PAGE = 100;
const RESTORE_LIMIT_MS = 3_600_000;

export async function* runUnits(sides: Sides): AsyncGenerator<CopyUnit> {
  const { from, tenantId } = sides;
  const runs = itemsOf((cursor) =>
    from.runs.listRuns({ ...cursor, tenantId, owner: 'any', order: 'oldest', limit: PAGE }),
  );
  for await (const run of runs) yield runUnit(sides, run);
  yield* removedRunUnits(sides);
}

function runUnit(sides: Sides, { runId }: RunSummary): CopyUnit {
  const { from, to, tenantId, probe } = sides;
  const options = { tenantId };
  // Records that a copy deleted the run in order to write it again.
  const mark = `${COPY_MARKS}${sha256Hex(runId)}`;

  const restore = async (how: { overDeleted?: boolean } = {}) => {
    const parts = from.runs.exportRun(runId, options);
    await to.runs.restoreRun(probed(parts, probe), {
      ...how,
      keepEncoded: true,
      timeoutMs: RESTORE_LIMIT_MS,
    });
    return { copied: 1, same: 0 };
  };

  /** Archives the beginning of the run in the target, then restores the whole run. */
  const replace = async (expectedSeq: number) => {
    await to.runs.archiveRun(runId, { ...options, location: REPLACING, expectedSeq, timeoutMs: RESTORE_LIMIT_MS });
    probe('replacing');
    return restore();
  };

  /** Discards the partial restore of an interrupted copy, which cannot continue once the run has grown. */
  const beginAnew = async () => {
    // The mark is written first, so that a later copy knows that a copy deleted the run.
    await to.kv.put(mark, { runId }, { ttl: MARK_TTL });
    await to.runs.deleteRun(runId, { ...options, timeoutMs: RESTORE_LIMIT_MS });
    probe('replacing');
    return restoreDeleted();
  };

  const restoreDeleted = async () => {
    await restore({ overDeleted: true });
    await to.kv.delete(mark);
    return { copied: 1, same: 0 };
  };

  const resume = async () => {
    try {
      return await restore();
    } catch (error) {
      if (!isTidemarkError(error, 'CONFLICT') || (await stateIn(sides, runId)) !== 'unfinished') throw error;
      return beginAnew();
    }
  };

  const restoreUnlessDeleted = async () => {
    try {
      return await restore();
    } catch (error) {
      if (!isTidemarkError(error, 'RUN_DELETED') || (await to.kv.get(mark)) === null) throw error;
      return restoreDeleted();
    }
  };

  /**
   * Redactions are compared separately, because they do not change the head, so runs with the same head may still
   * differ.
   */
  const redactAlike = async (expectedSeq: number) => {
    for await (const { ours, theirs } of eventPairs(sides, runId)) {
      // Restoring the run also copies the time and author of the redaction.
      if (ours?.redaction && !sameJson(ours.redaction, theirs?.redaction)) return replace(expectedSeq);
    }
    return { copied: 0, same: 1 };
  };

  return {
    id: runId,
    async copy() {
      const none = { copied: 0, same: 0 };
      try {
        const theirs = await stateIn(sides, runId);
        if (theirs === 'unfinished') return await resume();
        if (theirs === 0) return await restoreUnlessDeleted();
        const [source, target] = await Promise.all([firstPart(from, runId, options), firstPart(to, runId, options)]);
        const life = target.run.life ?? 1;
        if (life < (source.run.life ?? 1)) {
          // The source deleted the life that the target has, and began a later life.
          await to.runs.deleteRun(runId, { ...options, life, expectedSeq: theirs, timeoutMs: RESTORE_LIMIT_MS });
          return await restore();
        }
        if (source.run.head === target.run.head) return await redactAlike(theirs);
        return (await isBeginning(sides, runId, target)) ? await replace(theirs) : none;
      } catch (error) {
        // The target's run stays, and the comparison reports the difference.
        if (isTidemarkError(error, 'CONFLICT', 'SEQ_CONFLICT', 'RUN_DELETED', 'RUN_ARCHIVED', 'RUN_NOT_FOUND'))
          return none;
        throw error;
      }
    },
    async compare() {
      try {
        for await (const { ours, theirs } of eventPairs(sides, runId)) {
          if (!ours) return differs(`the target has more than the ${theirs!.runSeq - 1} events of the source`);
          if (!theirs) return differs(`the target has only ${ours.runSeq - 1} events of the run`);
          if (ours.link !== theirs.link) return differs(`the target has another history from event ${ours.runSeq} on`);
          if (!sameJson(ours.redaction ?? null, theirs.redaction ?? null))
            return differs(`event ${ours.runSeq} is redacted on one side only, or otherwise`);
        }
        return null;
      } catch (error) {
        if (isTidemarkError(error, 'RUN_NOT_FOUND'))
          return differs('the run is not in the target, or was deleted there');
        if (isTidemarkError(error, 'RUN_ARCHIVED')) return differs('the run is archived');
        throw error;
      }
    },
  };
}

function differs(reason: string): Difference {
  return { count: 1, reason };
}

/** Returns the last sequence in the target, 0 if the run is missing, or `unfinished` for a partial restore. */
async function stateIn({ to, tenantId }: Sides, runId: string): Promise<number | 'unfinished'> {
  try {
    return await to.runs.headSeq(runId, { tenantId });
  } catch (error) {
    if (!isTidemarkError(error, 'RUN_ARCHIVED')) throw error;
    const location = await to.runs.archiveLocation(runId, { tenantId });
    if (location === null || location === REPLACING) return 'unfinished';
    throw error;
  }
}

async function firstPart(store: Sides['from'], runId: string, options: { tenantId: string }): Promise<RunPart> {
  for await (const part of store.runs.exportRun(runId, options)) return part;
  throw new Error(`The export of run ${runId} has no parts`);
}

/** Whether the target's run is a prefix of the source's run. */
async function isBeginning({ from, tenantId }: Sides, runId: string, target: RunPart): Promise<boolean> {
  const { lastEventSeq, head } = target.run;
  for await (const { run, events } of from.runs.exportRun(runId, { tenantId })) {
    if (run.lastEventSeq < lastEventSeq) return false;
    const event = events.find((it) => it.runSeq === lastEventSeq);
    if (event) return event.link === head;
  }
  return false;
}

/** Yields the events of both sides in pairs and verifies them. When one side ends, the longer side continues alone. */
async function* eventPairs({ from, to, tenantId }: Sides, runId: string): AsyncGenerator<EventPair> {
  const theirs = eventsOf(to.runs.exportRun(runId, { tenantId }));
  try {
    for await (const ours of eventsOf(from.runs.exportRun(runId, { tenantId }))) {
      const other = await theirs.next();
      yield { ours, theirs: other.done ? null : other.value };
    }
    const other = await theirs.next();
    if (!other.done) yield { ours: null, theirs: other.value };
  } finally {
    await theirs.return(undefined);
  }
}

interface EventPair {
  ours: ExportedEvent | null;
  theirs: ExportedEvent | null;
}

async function* eventsOf(parts: AsyncIterable<RunPart>): AsyncGenerator<ExportedEvent> {
  for await (const { events } of parts) yield* events;
}

async function* probed(parts: AsyncIterable<RunPart>, probe: Sides['probe']): AsyncGenerator<RunPart> {
  for await (const part of parts) {
    yield part;
    probe('run part');
  }
}

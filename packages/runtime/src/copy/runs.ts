/**
 * Copies runs by their exported form: same sequences, times and links. A run of which the target has the beginning is
 * replaced by the whole; any other history under the same id is left alone and reported.
 */
import { type ExportedEvent, isTidemarkError, type RunPart, type RunSummary } from '@tidemark/core';
import { sameJson, sha256Hex } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { COPY_MARKS, REPLACING } from './marks.ts';
import { removedRunUnits } from './removed-runs.ts';
import type { CopyUnit, Difference, Sides } from './unit.ts';

/** A mark that a kill has left must not bring back what somebody deletes much later. */
const MARK_TTL = '7d';
const PAGE = 100;
const RESTORE_LIMIT_MS = 3_600_000;

export async function* runUnits(sides: Sides): AsyncGenerator<CopyUnit> {
  const { from, tenantId } = sides;
  const runs = itemsOf((cursor) => from.runs.listRuns({ ...cursor, tenantId, order: 'oldest', limit: PAGE }));
  for await (const run of runs) yield runUnit(sides, run);
  yield* removedRunUnits(sides);
}

function runUnit(sides: Sides, { runId }: RunSummary): CopyUnit {
  const { from, to, tenantId, probe } = sides;
  const options = { tenantId };
  // Says that nobody but a copy has deleted the run, to begin it anew.
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

  /** Takes the beginning of the run out of the target's way; what comes is the same and more. */
  const replace = async (expectedSeq: number) => {
    await to.runs.archiveRun(runId, { ...options, location: REPLACING, expectedSeq, timeoutMs: RESTORE_LIMIT_MS });
    probe('replacing');
    return restore();
  };

  /** What a copy that was killed has begun is of no use once the run has grown. */
  const beginAnew = async () => {
    // The mark first: a later copy must know that nobody but this one has deleted the run.
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

  /** A redaction leaves the head as it is, so that runs with the same head may still differ by one. */
  const redactAlike = async (expectedSeq: number) => {
    for await (const { ours, theirs } of eventPairs(sides, runId)) {
      // With the run comes when and by whom it was redacted.
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
        if (source.run.head === target.run.head) return await redactAlike(theirs);
        return (await isBeginning(sides, runId, target)) ? await replace(theirs) : none;
      } catch (error) {
        // Left as it is: the comparison says what is wrong with it.
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

/** The last sequence in the target, 0 when there is none; or that an earlier copy has begun and not finished it. */
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

/** Whether the source went through the state that the target is in. */
async function isBeginning({ from, tenantId }: Sides, runId: string, target: RunPart): Promise<boolean> {
  const { lastEventSeq, head } = target.run;
  for await (const { run, events } of from.runs.exportRun(runId, { tenantId })) {
    if (run.lastEventSeq < lastEventSeq) return false;
    const event = events.find((it) => it.runSeq === lastEventSeq);
    if (event) return event.link === head;
  }
  return false;
}

/** The events of a run on both sides, each checked as it is read; where one side ends, the other may go on. */
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

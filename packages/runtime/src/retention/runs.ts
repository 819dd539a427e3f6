/**
 * Retention of runs. They are found through the engine's own list, and removed only if they still have the sequence at
 * which they were found.
 */
import { isTidemarkError, type ListRunsOptions, type RunSummary, type Store } from '@tidemark/core';
import { itemsOf } from '../listing.ts';
import type { CheckedRunPolicy } from './checks.ts';
import { type Candidate, decides, jsonBytes, type Keeper } from './keeper.ts';

/** The part of an archiver that retention needs. */
export interface RunArchiver {
  /** Writes the run to the archive, reads it back, then removes it from the store. */
  archiveRun(runId: string, options: { tenantId: string; expectedSeq: number }): Promise<unknown>;
}

const PAGE = 200;
/** The length of one turn. The events of a large run are removed in many small steps. */
const TURN_MS = 1_000;
const REMOVAL_LIMIT_MS = 3_600_000;

export function runKeeper(
  store: Store,
  policies: readonly CheckedRunPolicy[],
  archiver: RunArchiver | undefined,
): Keeper<CheckedRunPolicy> {
  /** The first turn removes the run. The following turns remove its remaining events. */
  const deleteInTurns = async (
    { tenantId, runId, lastEventSeq: expectedSeq, life = 1 }: RunSummary,
    rest: () => Promise<void>,
  ) => {
    let isBegun = false;
    for (const limit = Date.now() + REMOVAL_LIMIT_MS; ; ) {
      try {
        const isThere = await store.runs.deleteRun(runId, {
          tenantId,
          // The life is sent only where it matters, because servers of version 0.1 know only one life.
          ...(life === 1 ? {} : { life }),
          expectedSeq,
          timeoutMs: TURN_MS,
        });
        return isThere || isBegun ? 'deleted' : 'spared';
      } catch (error) {
        if (!isTidemarkError(error, 'OUTCOME_UNKNOWN', 'TIMEOUT') || Date.now() > limit) throw error;
        isBegun ||= error.outcome === 'unknown';
      }
      await rest();
    }
  };

  const remove = async (policy: CheckedRunPolicy, run: RunSummary, rest: () => Promise<void>) => {
    const { tenantId, runId, lastEventSeq: expectedSeq } = run;
    try {
      if (policy.action === 'archive') {
        await archiver!.archiveRun(runId, { tenantId, expectedSeq });
        return 'archived';
      }
      return await deleteInTurns(run, rest);
    } catch (error) {
      if (isTidemarkError(error, 'SEQ_CONFLICT', 'RUN_NOT_FOUND', 'RUN_ARCHIVED')) return 'spared';
      throw error;
    }
  };

  return {
    kind: 'runs',
    policies,
    async *find(policy, now): AsyncGenerator<Candidate> {
      let toKeep = policy.keepNewest ?? 0;
      const cutoff = policy.olderThanMs === null ? null : now - policy.olderThanMs;
      for await (const run of itemsOf((cursor) => store.runs.listRuns({ ...filterOf(policy, cutoff), ...cursor }))) {
        if (!decides(policies, policy, run.tenantId, (it) => matches(it, run))) continue;
        if (toKeep-- > 0) continue;
        if (cutoff !== null && Date.parse(timeOf(policy, run)) >= cutoff) continue;
        yield {
          id: run.runId,
          events: run.lastEventSeq,
          bytes: () => runBytes(store, run),
          remove: (rest) => remove(policy, run, rest),
        };
      }
    },
  };
}

/**
 * Returns the conditions that the engine can check. With `keepNewest` all runs must be counted, so the age is not one
 * of the conditions.
 */
function filterOf(policy: CheckedRunPolicy, cutoff: number | null): ListRunsOptions {
  const { tenantId, projectId, environmentId, planId, labels, statuses } = policy;
  const filter: ListRunsOptions = { status: statuses, limit: PAGE, order: policy.keepNewest ? 'newest' : 'oldest' };
  for (const [name, value] of Object.entries({ tenantId, projectId, environmentId, planId, labels }))
    if (value !== undefined) Object.assign(filter, { [name]: value });
  if (cutoff === null || policy.keepNewest) return filter;
  const before = new Date(cutoff).toISOString();
  return policy.ageOf === 'first event' ? { ...filter, createdBefore: before } : { ...filter, updatedBefore: before };
}

function timeOf(policy: CheckedRunPolicy, run: RunSummary): string {
  return policy.ageOf === 'first event' ? run.createdAt : run.updatedAt;
}

function matches(policy: CheckedRunPolicy, run: RunSummary): boolean {
  const parts = ['projectId', 'environmentId', 'planId'] as const;
  return (
    policy.statuses.includes(run.status) &&
    parts.every((part) => policy[part] === undefined || policy[part] === run[part]) &&
    Object.entries(policy.labels ?? {}).every(([name, value]) => run.labels[name] === value)
  );
}

async function runBytes(store: Store, { runId, tenantId }: RunSummary): Promise<number> {
  let bytes = 0;
  try {
    for await (const part of store.runs.exportRun(runId, { tenantId })) {
      for (const event of part.events) bytes += jsonBytes(event);
    }
  } catch (error) {
    if (!isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED')) throw error;
  }
  return bytes;
}

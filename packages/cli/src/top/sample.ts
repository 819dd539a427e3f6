/** One reading of a store's activity, for `top`. */
import type { ListedJobState, RunStatus, Store } from '@tidemark/core';
import { LISTED_JOB_STATES } from '@tidemark/core';
import type { RouteRate } from './server-metrics.ts';

/** A number; `exact` is false if there may be more. */
export interface Amount {
  count: number;
  exact: boolean;
}

export interface TopSample {
  /** RFC 3339. */
  time: string;
  eventsPerSecond: number;
  /** False if more runs changed than are counted. */
  eventsExact: boolean;
  /**
   * How long the oldest event that is not yet in a snapshot has been waiting; `null` unless the store is a server with
   * a projector.
   */
  lagMs: number | null;
  runs: Record<string, Amount>;
  jobs: Record<string, Amount>;
  /** Requests to the server by route, the slowest first; `null` unless the store is a server. */
  requests: RouteRate[] | null;
}

const RUN_STATUSES = ['RUNNING', 'PAUSED', 'FAILED'] as const satisfies RunStatus[];
/** Completed jobs are excluded, because they are not work that remains. */
const JOB_STATES = LISTED_JOB_STATES.filter((it) => it !== 'completed' && it !== 'cancelled');
const MAX_JOBS = 1_000;

/** Counts the runs and jobs of a store by state. */
export async function countStates(store: Store): Promise<Pick<TopSample, 'runs' | 'jobs'>> {
  const states = store.info.capabilities.jobs ? JOB_STATES : [];
  const [runs, jobs] = await Promise.all([
    Promise.all(RUN_STATUSES.map(async (status) => [status, await store.runs.countRuns({ status })] as const)),
    Promise.all(states.map(async (state) => [state, await countJobs(store, state)] as const)),
  ]);
  return { runs: Object.fromEntries(runs), jobs: Object.fromEntries(jobs) };
}

async function countJobs({ jobs }: Store, state: ListedJobState): Promise<Amount> {
  const { items, next } = await jobs.list(state, { limit: MAX_JOBS });
  return { count: items.length, exact: next === undefined };
}

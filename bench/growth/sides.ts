/**
 * The operations of the growth benchmark on our store: append, read the end of a run, read a snapshot, claim a job and sweep.
 * A bare engine does work of the same kind on as much data.
 */
import type { Store } from '@tidemark/core';
import { createSweeper } from '@tidemark/runtime';
import { appendAll, makeEvents } from '../events.ts';
import { fillJobs, JOB_TYPE, jobKey, STUCK } from '../jobs.ts';

/** How much data a store has. */
export interface Size {
  runs: number;
  /**
   * How many of the runs are appended to. On Redis and NATS the first append of a process to a run reads its head, which
   * `npm run bench -- nats` measures.
   */
  busyRuns: number;
  eventsPerRun: number;
  jobs: number;
}

/** Prepares a round, and returns the work to measure, which returns its number of units. */
export type Prepare = () => Promise<() => Promise<number>>;

export const OPERATIONS = ['tail', 'snapshot', 'append', 'claim', 'sweep'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Our store or a bare engine, with data. */
export type Side = Record<Operation, Prepare> & {
  /** The first process of its server, if it has one. */
  pid?: number;
  close(): Promise<void>;
};

/** The tenant of `makeEvents`. */
const TENANT = 'bench';
export const CALLERS = 64;
export const WORKERS = 8;
export const APPENDS = 3_200;
export const READS = 1_000;
export const CLAIMS = 400;
/** Events at the end of a run that one read returns. */
export const TAIL = 10;
/** Runs with a stored snapshot. */
const SNAPSHOTS = 1_000;
const BATCH = 1_000;
const REPORT_EVERY = 100_000;

export const runOf = (index: number) => `run-${index}`;
/** Returns runs in an order that jumps through the whole store. */
export const spread = (index: number, { runs }: Size) => (index * 7_919) % runs;
/** Returns one of the runs that are appended to. */
export const busyRun = (index: number, size: Size) => runOf(spread(index % size.busyRuns, size));
/** Returns one of the runs that have a snapshot. */
export const withSnapshot = (index: number, size: Size) => runOf(spread(index % Math.min(SNAPSHOTS, size.runs), size));

/** Stores runs that grow side by side, jobs, and some snapshots. */
export async function fill(whole: Store, size: Size, report: (line: string) => void): Promise<void> {
  const store = whole.forTenant(TENANT);
  const patient = { timeoutMs: 600_000 };
  let stored = 0;
  for (let first = 0; first < size.runs; first += BATCH) {
    const runs = Math.min(BATCH, size.runs - first);
    for (let round = 0; round < size.eventsPerRun; round++) {
      await store.runs.appendEvents(
        makeEvents(runs, (index) => runOf(first + index)),
        patient,
      );
      stored += runs;
      if (stored % REPORT_EVERY === 0) report(`${stored} events stored`);
    }
  }
  await fillJobs(store, size.jobs, report);
  const snapshots = Math.min(SNAPSHOTS, size.runs);
  for (let index = 0; index < snapshots; index++) await store.runs.refreshSnapshot(withSnapshot(index, size), patient);
}

/** Calls `work` `times` times, by a number of callers. */
export async function repeat(
  times: number,
  callers: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: callers }, call));
  return times;
}

let rounds = 0;
/** Returns a number that no earlier round had, so that every round visits other data. */
export const nextRound = () => ++rounds;

/** Measures our store, through the view of the tenant that its events have. */
export function ourSide(whole: Store, size: Size, pid?: number): Side {
  const store = whole.forTenant(TENANT);
  let jobs = 0;
  const stuck = Array.from({ length: STUCK }, (_, index) => jobKey(`stuck-${index}`));
  return {
    async append() {
      const at = nextRound() * APPENDS;
      const events = makeEvents(APPENDS, (index) => busyRun(at + index, size));
      return () => appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
    },
    async tail() {
      const at = nextRound() * READS;
      const afterSeq = Math.max(0, size.eventsPerRun - TAIL);
      return () =>
        repeat(READS, WORKERS, (index) =>
          store.runs.fetchEvents(runOf(spread(at + index, size)), { afterSeq, limit: TAIL }),
        );
    },
    async snapshot() {
      const at = nextRound() * READS;
      return () => repeat(READS, WORKERS, (index) => store.runs.getSnapshot(withSnapshot(at + index, size)));
    },
    async claim() {
      const taskIds = Array.from({ length: CLAIMS }, () => `claimed-${jobs++}`);
      await repeat(CLAIMS, CALLERS, (index) => store.jobs.enqueue({ taskType: JOB_TYPE, taskId: taskIds[index]! }));
      return () =>
        repeat(CLAIMS, WORKERS, async () => {
          const claim = await store.jobs.claim({ taskType: JOB_TYPE }, { worker: 'bench' });
          await store.jobs.complete(claim!);
        });
    },
    async sweep() {
      const lapsed = { state: 'claimed', worker: 'eve', created_at: 1, updated_at: Date.now(), timeout_at: 1 };
      await Promise.all(stuck.map((it) => store.kv.put(it, lapsed)));
      return async () => {
        const { types } = await createSweeper({ store, threshold: '1d', limit: 1_000 }).run();
        if (types[JOB_TYPE]?.requeued !== STUCK) throw new Error(`A sweep returned ${types[JOB_TYPE]?.requeued} jobs`);
        return 1;
      };
    },
    ...(pid === undefined ? {} : { pid }),
    close: () => whole.close(),
  };
}

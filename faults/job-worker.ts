/**
 * Workers that can be killed or frozen at any moment. They claim jobs at --url, work briefly and complete them. Results
 * are noted on standard output, without buffering. Some sleep past their lease on purpose.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type ClaimedJob, isTidemarkError, type JobRef, type Store } from '@tidemark/core';
import { open } from 'tidemark';
import { type JobNote, TASK_TYPE } from './job-notes.ts';
import { Random } from './random.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    seed: { type: 'string' },
    workers: { type: 'string' },
    lease: { type: 'string' },
    /** For one in this many jobs, the worker sleeps past the lease. */
    oversleep: { type: 'string' },
  },
});

const random = new Random(Number(values.seed));
const leaseMs = Number(values.lease);
const parent = process.ppid;

function note(entry: JobNote): void {
  writeSync(1, `${JSON.stringify(entry)}\n`);
}

/** Retries a call until it has a result, as its error allows. */
async function answered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) throw error;
    }
    await sleep(random.between(5, 50));
  }
}

async function nextJob(store: Store, worker: string): Promise<ClaimedJob | null> {
  const options = { worker, lease: leaseMs, claimId: randomUUID() };
  let which: JobRef | { taskType: string } = { taskType: TASK_TYPE };
  return answered(async () => {
    try {
      return await store.jobs.claim(which, options);
    } catch (error) {
      if (isTidemarkError(error, 'OUTCOME_UNKNOWN') && error.write?.method === 'claim') [which] = error.write.args;
      throw error;
    }
  });
}

async function workOn(store: Store, claim: ClaimedJob): Promise<void> {
  const { taskId, claimId } = claim;
  note({ kind: 'claimed', taskId, claimId });
  try {
    const oversleeps = random.between(0, Number(values.oversleep)) === 0;
    await sleep(oversleeps ? leaseMs * 2 : random.between(0, 10));
    if (!oversleeps && random.between(0, 4) === 0) await answered(() => store.jobs.progress(claim, { currentStep: 1 }));
    await answered(() => store.jobs.complete(claim, { resultRef: claimId }));
    note({ kind: 'completed', taskId, claimId });
  } catch (error) {
    if (!isTidemarkError(error, 'CLAIM_LOST')) throw error;
    note({ kind: 'lost', taskId, claimId });
  }
}

/** Works until every job has ended, or the parent is gone. */
async function work(store: Store, worker: string): Promise<void> {
  while (process.ppid === parent) {
    const claim = await nextJob(store, worker);
    if (claim) await workOn(store, claim);
    else if (await allEnded(store)) return;
    else await sleep(random.between(20, 100));
  }
}

async function allEnded(store: Store): Promise<boolean> {
  const states = ['pending', 'claimed', 'running'] as const;
  const types = await answered(() => Promise.all(states.map((state) => store.jobs.types(state))));
  return types.flat().length === 0;
}

const store = await open(values.url!, { timeoutMs: 15_000 });
const names = Array.from({ length: Number(values.workers) }, (_, index) => `${process.pid}-${index}`);
await Promise.all(names.map((name) => work(store, name)));
await store.close();

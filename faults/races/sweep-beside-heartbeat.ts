/**
 * Workers renew short leases around their end, then renew them for a minute and complete their jobs, while sweepers
 * recover overdue ones. A sweep must never return a job with a valid lease, and completing a job under a valid lease
 * must not fail.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClaimedJob, isTidemarkError, type JobStore } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

const JOBS = 12;
const SWEEPERS = 3;
const RENEWALS = 5;
const SHORT_LEASE_MS = 60;
const LONG_LEASE_MS = 60_000;
const THRESHOLD_MS = 3_600_000;
/** Servers on this machine use the same clock, but read it at a different moment. */
const CLOCK_SLACK_MS = 5;

export const sweepBesideHeartbeat: Race = {
  summary: "' workers renew leases and complete their jobs while sweepers run",
  rounds: { short: 3, long: 300 },

  async round({ a, b, random, id }: Arena): Promise<RoundResult> {
    const taskType = `sweep-${id}`;
    const total: RoundResult = { checks: 0, problems: [] };
    const working = new AbortController();
    const sweepers = Array.from({ length: SWEEPERS }, () => sweepUntil(working.signal, b.jobs, taskType, total));
    const work = async (n: number) => {
      await a.jobs.enqueue({ taskType, taskId: `job-${n}`, maxRetries: 1_000 });
      const job = { taskType, taskId: `job-${n}` };
      const claim = await a.jobs.claim(job, { worker: 'a', lease: SHORT_LEASE_MS + random.between(0, 30) });
      if (claim) await workOn(a.jobs, claim, () => random.between(-2, 10), total);
    };
    await Promise.all(Array.from({ length: JOBS }, (_, n) => work(n)));
    working.abort();
    await Promise.all(sweepers);
    return total;
  },
};

/** Renews a lease around its end until a sweeper wins, which is allowed, or the job is completed. */
async function workOn(jobs: JobStore, claim: ClaimedJob, lateMs: () => number, total: RoundResult): Promise<void> {
  let { timeoutAt } = claim.job;
  try {
    for (let renewal = 1; renewal <= RENEWALS; renewal++) {
      await sleep(Math.max(0, timeoutAt! - Date.now() + lateMs()));
      const lease = renewal === RENEWALS ? LONG_LEASE_MS : SHORT_LEASE_MS;
      ({ timeoutAt } = await jobs.heartbeat(claim, { lease }));
    }
  } catch (error) {
    if (isTidemarkError(error, 'CLAIM_LOST')) return;
    throw error;
  }
  await sleep(Math.max(0, lateMs()));
  total.checks++;
  try {
    await jobs.complete(claim);
  } catch (error) {
    if (!isTidemarkError(error, 'CLAIM_LOST')) throw error;
    total.problems.push(`${claim.taskId}: complete failed with CLAIM_LOST after an acknowledged heartbeat`);
  }
}

/** Recovers overdue jobs as a sweeper does, and checks that they are overdue. */
async function sweepUntil(signal: AbortSignal, jobs: JobStore, taskType: string, total: RoundResult): Promise<void> {
  const { problems } = total;
  while (!signal.aborted) {
    for (const overdue of await jobs.overdue(taskType, { threshold: THRESHOLD_MS })) {
      total.checks++;
      const { taskId, state, timeoutAt = 0 } = overdue.job;
      const leaseMs = timeoutAt - Date.now();
      if (state !== 'claimed' && state !== 'running') problems.push(`${taskId}: overdue returned a ${state} job`);
      else if (leaseMs > CLOCK_SLACK_MS)
        problems.push(`${taskId}: overdue returned a job whose lease is good for ${leaseMs} ms`);
      await jobs.recover(overdue).catch((error) => problems.push(`${taskId}: recover failed: ${error.message}`));
    }
    await sleep(1);
  }
}

/**
 * Workers renew short leases around their end, while claimers with `takeExpired` and a sweeper compete for the same
 * jobs. At most one of them has a job at a time: an acknowledged renewal keeps it until the new lease ends, a claimer
 * that took a job can complete it, and a job that its worker lost has exactly one retry more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClaimedJob, isTidemarkError, type Job, type JobStore } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

const JOBS = 8;
const CLAIMERS = 3;
const RENEWALS = 4;
const SHORT_LEASE_MS = 60;
const LONG_LEASE_MS = 60_000;
const THRESHOLD_MS = 3_600_000;
/** Servers on this machine use the same clock, but read it at a different moment. */
const CLOCK_SLACK_MS = 5;
const FIRST = 'first';

interface Round extends RoundResult {
  taskType: string;
  /** Until when the first worker holds each job, as the store has acknowledged. */
  heldUntil: Map<string, number>;
}

export const claimExpiredBesideHeartbeat: Race = {
  summary: "' claimers take expired leases while workers renew them and a sweeper runs",
  rounds: { short: 3, long: 300 },

  async round({ a, b, random, id }: Arena): Promise<RoundResult> {
    const round: Round = { checks: 0, problems: [], taskType: `expired-${id}`, heldUntil: new Map() };
    const { taskType } = round;
    const claims = await Promise.all(
      Array.from({ length: JOBS }, async (_, n) => {
        const { job } = await a.jobs.enqueue({ taskType, taskId: `job-${n}`, maxRetries: 1_000 });
        return a.jobs.claim(job, { worker: FIRST, lease: SHORT_LEASE_MS + random.between(0, 30) });
      }),
    );
    const working = new AbortController();
    const others = Array.from({ length: CLAIMERS }, (_, n) =>
      claimUntil(working.signal, n % 2 === 0 ? b.jobs : a.jobs, `claimer-${n}`, round),
    );
    others.push(sweepUntil(working.signal, b.jobs, taskType));
    await Promise.all(claims.map((claim) => workOn(a.jobs, claim!, () => random.between(-3, 4), round)));
    working.abort();
    await Promise.all(others);
    for (const { taskId } of claims as ClaimedJob[]) checkJob(taskId, await a.jobs.get({ taskType, taskId }), round);
    return { checks: round.checks, problems: round.problems };
  },
};

/**
 * Renews a lease around its end until another actor takes the job, which is allowed, or completes the job under a long
 * lease.
 */
async function workOn(jobs: JobStore, claim: ClaimedJob, lateMs: () => number, round: Round): Promise<void> {
  let { timeoutAt } = claim.job;
  for (let renewal = 1; renewal <= RENEWALS; renewal++) {
    round.heldUntil.set(claim.taskId, timeoutAt!);
    await sleep(Math.max(0, timeoutAt! - Date.now() + lateMs()));
    const lease = renewal === RENEWALS ? LONG_LEASE_MS : SHORT_LEASE_MS;
    const renewed = await unlessLost(jobs.heartbeat(claim, { lease }));
    if (!renewed) return;
    ({ timeoutAt } = renewed);
  }
  round.heldUntil.set(claim.taskId, timeoutAt!);
  await sleep(Math.max(0, lateMs()));
  round.checks++;
  if (!(await unlessLost(jobs.complete(claim))))
    round.problems.push(`${claim.taskId}: complete failed with CLAIM_LOST after an acknowledged renewal`);
}

/** Claims jobs, checks that their lease had ended, and completes them. No other actor may have them in between. */
async function claimUntil(signal: AbortSignal, jobs: JobStore, worker: string, round: Round): Promise<void> {
  const { taskType, heldUntil, problems } = round;
  while (!signal.aborted) {
    const claim = await jobs.claim({ taskType }, { worker, lease: LONG_LEASE_MS, takeExpired: true });
    if (claim) {
      round.checks++;
      const leaseMs = (heldUntil.get(claim.taskId) ?? 0) - claim.job.updatedAt;
      if (leaseMs > CLOCK_SLACK_MS) problems.push(`${claim.taskId}: taken while its lease was good for ${leaseMs} ms`);
      if (!(await unlessLost(jobs.complete(claim))))
        problems.push(`${claim.taskId}: ${worker} took it and lost it under a lease of a minute`);
    }
    await sleep(1);
  }
}

async function sweepUntil(signal: AbortSignal, jobs: JobStore, taskType: string): Promise<void> {
  while (!signal.aborted) {
    for (const overdue of await jobs.overdue(taskType, { threshold: THRESHOLD_MS })) await jobs.recover(overdue);
    await sleep(3);
  }
}

/** A job is completed, or pending after a sweep. Its first worker loses it at most once. */
function checkJob(taskId: string, job: Job | null, { problems }: Round): void {
  const expected = job?.worker === FIRST ? 0 : 1;
  if (job?.retryCount !== expected) problems.push(`${taskId}: has ${job?.retryCount} retries instead of ${expected}`);
  if (job?.state !== 'completed' && job?.state !== 'pending') problems.push(`${taskId}: was left ${job?.state}`);
}

async function unlessLost<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (isTidemarkError(error, 'CLAIM_LOST')) return null;
    throw error;
  }
}

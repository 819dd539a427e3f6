/**
 * Workers claim the next job of a type. They send every claim several times at once, from two clients, as if replies
 * had been lost. Some complete their job before a retry arrives. Each claim id must take exactly one job, and every
 * reply must return that job.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob, JobStore } from '@tidemark/core';
import type { Arena, Race, RoundResult } from './race.ts';

const CLAIMS = 8;
const SENDINGS = 3;
/** More jobs than claims, so that a faulty retry finds another job to take. */
const JOBS = 2 * CLAIMS;

export const claimRetriesAtOnce: Race = {
  summary: 'claims are retried at once and after their job has ended',
  rounds: { short: 5, long: 400 },

  async round({ a, b, random, id }: Arena): Promise<RoundResult> {
    const taskType = `claims-${id}`;
    const problems: string[] = [];
    for (let n = 0; n < JOBS; n++) await a.jobs.enqueue({ taskType, taskId: `job-${n}` });
    const claimOften = async (n: number) => {
      const options = { worker: `w${n}`, claimId: `${taskType}-${n}`, lease: 60_000 };
      const send = async (jobs: JobStore) => {
        await sleep(random.between(0, 4));
        return jobs.claim({ taskType }, options);
      };
      const answers = await Promise.all(
        Array.from({ length: SENDINGS }, (_, at) => send(at % 2 === 0 ? a.jobs : b.jobs)),
      );
      const [first] = answers.filter((it) => it !== null);
      if (first) await end(a.jobs, first, n);
      answers.push(await send(b.jobs), await send(a.jobs));
      const taken = new Set(answers.map((it) => it?.taskId ?? 'nothing'));
      if (taken.size !== 1) problems.push(`claim ${options.claimId} was answered with ${[...taken].join(', ')}`);
    };
    await Promise.all(Array.from({ length: CLAIMS }, (_, n) => claimOften(n)));
    const { items } = await a.jobs.list('pending', { taskType, limit: 1_000 });
    // One in four claims returns its job to the queue. The job is pending again, but was taken.
    const untouched = items.filter(({ retryCount }) => retryCount === 0).length;
    if (untouched !== JOBS - CLAIMS) problems.push(`${CLAIMS} claims took ${JOBS - untouched} jobs`);
    return { checks: CLAIMS, problems };
  },
};

/** Ends a job in one of the possible ways, or leaves it running. */
async function end(jobs: JobStore, claim: ClaimedJob, n: number): Promise<void> {
  if (n % 4 === 0) await jobs.complete(claim);
  if (n % 4 === 1) await jobs.fail(claim, { error: 'again', delay: '1h' });
  if (n % 4 === 2) await jobs.cancel(claim);
}

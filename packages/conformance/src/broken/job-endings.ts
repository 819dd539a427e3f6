/** Broken fences and endings: faults that make a job run twice or lose its result. */
import { isTidemarkError, type JobClaim, type JobStore } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

/** Returns the job instead of throwing CLAIM_LOST. */
async function unfenced<T>(jobs: JobStore, claim: JobClaim, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isTidemarkError(error, 'CLAIM_LOST')) throw error;
    return (await jobs.get(claim)) as T;
  }
}

export const BROKEN_JOB_ENDINGS: readonly BrokenStore[] = [
  broken('heartbeats-unfenced', 'accepts heartbeats of workers that lost their claim', 'jobs/fenced-after-a-sweep', {
    jobs: (jobs) => ({ heartbeat: (claim, options) => unfenced(jobs, claim, () => jobs.heartbeat(claim, options)) }),
  }),
  broken('zombies-complete', 'lets anyone complete a job', 'jobs/fenced-after-a-sweep', {
    jobs: (jobs, _, view) => ({
      async complete(claim, result, options) {
        const job = await jobs.get(claim);
        if (job) await view.kv.setFields(job.key, { claim_id: claim.claimId });
        return jobs.complete(claim, result, options);
      },
    }),
  }),
  broken('leases-end-by-themselves', 'treats a late worker as lost before any sweep', 'jobs/late-but-not-swept', {
    jobs: (jobs, _, view) => ({
      async complete(claim, result, options) {
        const [overdue] = await jobs.overdue(claim.taskType, { threshold: '1h' });
        if (overdue) await view.kv.setField(overdue.job.key, 'claim_id', 'nobody');
        return jobs.complete(claim, result, options);
      },
    }),
  }),
  broken('cancel-keeps-the-claim', 'lets the worker of a cancelled job continue', 'jobs/fenced-after-cancel', {
    jobs: (jobs, _, view) => ({
      async cancel(job, options) {
        const record = await view.kv.get((await jobs.get(job))?.key ?? 'none');
        const cancelled = await jobs.cancel(job, options);
        const claimId = record?.fields.claim_id;
        if (cancelled && claimId) await view.kv.setField(cancelled.key, 'claim_id', claimId);
        return cancelled && jobs.get(job);
      },
    }),
  }),
  broken('cancels-again', 'cancels a requeued job again on retry', 'jobs/cancelled-once-for-a-request', {
    jobs: (jobs) => ({ cancel: (job, { requestId: _, ...options } = {}) => jobs.cancel(job, options) }),
  }),
  broken('any-claim-will-do', 'does not check the claim id', 'jobs/made-up-claims', {
    jobs: (jobs) => ({
      progress: (claim, step, options) => unfenced(jobs, claim, () => jobs.progress(claim, step, options)),
    }),
  }),
  broken('completed-comes-back', 'requeues a completed job', 'jobs/ended-is-final', {
    jobs: (jobs, _, view) => ({
      async requeue(ref, options) {
        const job = await jobs.get(ref);
        if (job?.state === 'completed') await view.kv.setField(job.key, 'state', 'failed');
        return jobs.requeue(ref, options);
      },
    }),
  }),
  broken('completes-once-only', 'refuses a retried completion', 'jobs/complete-clears-the-lease', {
    jobs: (jobs, _, view) => ({
      async complete(claim, result, options) {
        const job = await jobs.complete(claim, result, options);
        await view.kv.setField(job.key, 'ended_by', 'somebody');
        return (await jobs.get(claim))!;
      },
    }),
  }),
  broken('retries-for-ever', 'never fails a job permanently', 'jobs/failing-sends-back', {
    jobs: (jobs, _, view) => ({
      async fail(claim, failure, options) {
        const job = await jobs.fail(claim, failure, options);
        if (job.state === 'failed') await view.kv.setField(job.key, 'state', 'pending');
        return (await jobs.get(claim))!;
      },
    }),
  }),
  broken(
    'failure-sent-again-is-lost',
    'refuses a retried failure once another worker has the job',
    'jobs/failing-late-answer',
    {
      jobs: (jobs, _, view) => ({
        async claim(which, options) {
          const claim = await jobs.claim(which, options);
          if (claim) await view.kv.setFields(claim.job.key, { ended_by: null });
          return claim;
        },
      }),
    },
  ),
  broken('retries-at-once', 'ignores the delay of a failure', 'jobs/failing-with-a-delay', {
    jobs: (jobs) => ({ fail: (claim, { delay: _, ...failure }, options) => jobs.fail(claim, failure, options) }),
  }),
  broken('requeue-keeps-the-count', 'requeues a job without resetting its retries', 'jobs/dead-jobs-come-back', {
    jobs: (jobs, _, view) => ({
      async requeue(ref, options) {
        const job = await jobs.requeue(ref, options);
        await view.kv.setField(job.key, 'retry_count', 3);
        return (await jobs.get(ref))!;
      },
    }),
  }),
  broken('jobs-vanish', 'lets a job expire while it is being worked on', 'jobs/ttl-belongs-to-the-end', {
    jobs: (jobs, _, view) => ({
      async claim(which, options) {
        const claim = await jobs.claim(which, options);
        if (claim) await view.kv.touch(claim.job.key, '1h');
        return claim;
      },
    }),
  }),
];

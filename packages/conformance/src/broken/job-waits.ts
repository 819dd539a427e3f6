/** Broken waiting and takeovers: faults in parking, in waking, and in claims of expired leases. */
import { isTidemarkError, type Job } from '@tidemark/core';
import { type BrokenStore, broken } from './wrap.ts';

export const BROKEN_JOB_WAITS: readonly BrokenStore[] = [
  broken('parks-until-either', 'prefers the delay when a time is given too', 'jobs/wrong-waits', {
    jobs: (jobs) => ({
      park: (claim, when, options) => jobs.park(claim, when && 'delay' in when ? { delay: when.delay } : when, options),
    }),
  }),
  broken('parking-counts', 'counts a parked job as a retry', 'jobs/parked-without-counting', {
    jobs: (jobs, _, view) => ({
      async park(claim, when, options) {
        const job = await jobs.park(claim, when, options);
        await view.kv.setField(job.key, 'retry_count', job.retryCount + 1);
        return (await jobs.get(claim))!;
      },
    }),
  }),
  broken('parking-is-forgotten', 'refuses to park again on retry', 'jobs/parked-without-counting', {
    jobs: (jobs, _, view) => ({
      async park(claim, when, options) {
        const job = await jobs.park(claim, when, options);
        await view.kv.setField(job.key, 'parked_by', 'somebody');
        return (await jobs.get(claim))!;
      },
    }),
  }),
  broken('parks-for-anyone', 'parks a job without checking the claim', 'jobs/parked-is-fenced', {
    jobs: (jobs, _, view) => ({
      async park(claim, when, options) {
        const job = await jobs.get(claim);
        if (job) await view.kv.setField(job.key, 'claim_id', claim.claimId);
        return jobs.park(claim, when, options);
      },
    }),
  }),
  broken('parking-keeps-the-claim', 'lets the worker of a parked job continue', 'jobs/parked-is-fenced', {
    jobs: (jobs, _, view) => ({
      async park(claim, when, options) {
        const job = await jobs.park(claim, when, options);
        await view.kv.setField(job.key, 'claim_id', claim.claimId);
        return (await jobs.get(claim))!;
      },
    }),
  }),
  broken('wakes-again', 'wakes a job again on retry', 'jobs/woken-early', {
    jobs: (jobs) => ({ wake: (job, { requestId: _, ...options } = {}) => jobs.wake(job, options) }),
  }),
  broken('wakes-the-held', 'takes a held job from its worker to wake it', 'jobs/woken-early', {
    jobs: (jobs, _, view) => ({
      async wake(ref, options) {
        const job = await jobs.get(ref);
        if (job?.state === 'claimed') await view.kv.setFields(job.key, { state: 'pending', claim_id: null });
        return jobs.wake(ref, options);
      },
    }),
  }),
  broken('takes-without-counting', 'takes over an expired job without a retry', 'jobs/claims-take-expired-leases', {
    jobs: (jobs, _, view) => ({
      async claim(which, options) {
        const claim = await jobs.claim(which, options);
        if (!claim || !options.takeExpired) return claim;
        await view.kv.setField(claim.job.key, 'retry_count', 0);
        return { ...claim, job: (await jobs.get(claim))! };
      },
    }),
  }),
  broken('takes-for-ever', 'takes over a job without retries left', 'jobs/claims-take-expired-leases', {
    jobs: (jobs, _, view) => ({
      async claim(which, options) {
        const job = 'taskId' in which ? await jobs.get(which) : null;
        if (job && options.takeExpired) await view.kv.setField(job.key, 'max_retries', 9);
        return jobs.claim(which, options);
      },
    }),
  }),
  broken('takes-unasked', 'takes over expired jobs in every claim', 'jobs/claims-take-expired-leases', {
    jobs: (jobs) => ({ claim: (which, options) => jobs.claim(which, { ...options, takeExpired: true }) }),
  }),
  broken(
    'take-overs-forgotten',
    'takes another expired job when a claim is retried',
    'jobs/expired-claim-retried-at-once',
    {
      jobs: (jobs) => ({
        async claim(which, { claimId, ...options }) {
          const claim = await jobs.claim(which, options);
          return claim && { ...claim, claimId: claimId ?? claim.claimId };
        },
      }),
    },
  ),
  broken(
    'takes-in-two-steps',
    'looks for an expired job and takes it even if it has changed since',
    'jobs/expired-lease-is-taken-once',
    {
      jobs: (jobs, _, view) => ({
        async claim(which, { takeExpired, ...options }) {
          const claim = await jobs.claim(which, options);
          if (claim || !takeExpired) return claim;
          const found = await jobs.overdue(which.taskType, { threshold: '1h' });
          const wanted = ({ taskId }: Job) => !('taskId' in which) || taskId === which.taskId;
          const overdue = found.find(({ job, reason }) => reason === 'lease ended' && wanted(job));
          if (!overdue) return null;
          const { key, taskType, taskId, retryCount } = overdue.job;
          const claimId = `${options.worker}-claim`;
          const holder = { state: 'claimed', worker: options.worker, claim_id: claimId };
          await view.kv.setFields(key, { ...holder, retry_count: retryCount + 1 });
          const job = await jobs.get(overdue.job);
          if (!job) throw new Error(`The job ${key} is gone`);
          return { taskType, taskId, claimId, job };
        },
      }),
    },
  ),
  broken('beats-after-a-take-over', 'accepts a heartbeat of the late worker', 'jobs/expired-lease-is-taken-once', {
    jobs: (jobs) => ({
      async heartbeat(claim, options) {
        try {
          return await jobs.heartbeat(claim, options);
        } catch (error) {
          const job = isTidemarkError(error, 'CLAIM_LOST') ? await jobs.get(claim) : null;
          if (job) return job;
          throw error;
        }
      },
    }),
  }),
];

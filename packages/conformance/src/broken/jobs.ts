/** Broken jobs: the queue, claims, lists and sweeps. */
import {
  type ClaimedJob,
  invalidArgument,
  isTerminal,
  type Job,
  type JobRef,
  type JobStore,
  type Store,
} from '@tidemark/core';
import { all } from '../cases/iterate.ts';
import { type BrokenStore, broken } from './wrap.ts';

const pause = () => new Promise(setImmediate);
const isNext = (which: object): which is { taskType: string } => !('taskId' in which);

/** Returns all jobs of a type in a state. */
async function every(jobs: JobStore, state: Parameters<JobStore['list']>[0], taskType: string): Promise<Job[]> {
  return (await jobs.list(state, { taskType, limit: 1_000 })).items;
}

/** Claims the job that `choose` returns as the next one. */
function nextBy(choose: (ready: Job[]) => Job | undefined) {
  return (jobs: JobStore): Partial<JobStore> => ({
    async claim(which, options) {
      if (!isNext(which)) return jobs.claim(which, options);
      await jobs.claim({ taskType: 'releases-what-is-due' }, options);
      const job = choose(await every(jobs, 'pending', which.taskType));
      return job ? jobs.claim(job, options) : null;
    },
  });
}

/** Checks the job first and claims it later, whatever happened in between. */
function racyClaims(jobs: JobStore, _: Store, view: Store): Partial<JobStore> {
  return {
    async claim(which, options) {
      const ref = isNext(which) ? (await every(jobs, 'pending', which.taskType))[0] : which;
      const job = ref && (await jobs.get(ref));
      await pause();
      if (job?.state !== 'pending') return null;
      const claimId = `${options.worker}-${job.taskId.length}`;
      await view.kv.setFields(job.key, { state: 'claimed', worker: options.worker, claim_id: claimId });
      return { ...pick(job), claimId, job: { ...job, worker: options.worker } } satisfies ClaimedJob;
    },
  };
}

function pick({ taskType, taskId }: JobRef): JobRef {
  return { taskType, taskId };
}

export const BROKEN_JOBS: readonly BrokenStore[] = [
  broken('job-fields-renamed', 'uses its own names for the fields of a job', 'jobs/a-job-is-a-kv-record', {
    jobs: (jobs, _, view) => ({
      async enqueue(job, options) {
        const result = await jobs.enqueue(job, options);
        await view.kv.setFields(result.job.key, { maxRetries: 1, max_retries: null });
        return { ...result, job: (await jobs.get(job))! };
      },
    }),
  }),
  broken('enqueue-overwrites', 'overwrites an existing job when it is enqueued again', 'jobs/enqueued-once', {
    jobs: (jobs, _, view) => ({
      async enqueue(job, options) {
        const before = await jobs.get(job);
        if (before) await view.kv.delete(before.key);
        return jobs.enqueue(job, options);
      },
    }),
  }),
  broken('fifo-only', 'claims the oldest job regardless of priority', 'jobs/priority-then-age', {
    jobs: nextBy((ready) => ready.sort((a, b) => a.createdAt - b.createdAt)[0]),
  }),
  broken('newest-first', 'claims the newest job of the highest priority', 'jobs/priority-then-age', {
    jobs: nextBy((ready) => ready.sort((a, b) => b.priority - a.priority || b.createdAt - a.createdAt)[0]),
  }),
  broken('delay-ignored', 'claims delayed jobs before their time', 'jobs/delayed-until-its-time', {
    jobs: (jobs) => ({ enqueue: ({ delay: _, ...job }, options) => jobs.enqueue(job, options) }),
  }),
  broken('due-jobs-last', 'claims due jobs after all others', 'jobs/due-jobs-take-their-rank', {
    jobs: nextBy((ready) => ready.find((job) => !job.taskId.startsWith('delayed')) ?? ready[0]),
  }),
  broken('lossy-job-ids', 'drops characters from ids that its engine does not support', 'jobs/hostile-ids-never-meet', {
    jobs: (jobs) => ({
      enqueue: (job, options) => jobs.enqueue({ ...job, taskId: job.taskId.replace(/[^\w.-]/gu, '_') }, options),
    }),
  }),
  broken('jobs-without-tenants', 'keeps the jobs of all tenants together', 'jobs/tenants-apart', {
    jobs: (_, { jobs }) => ({
      enqueue: (job, options) => jobs.enqueue(job, options),
      get: (job, options) => jobs.get(job, options),
      claim: (which, options) => jobs.claim(which, options),
    }),
  }),
  broken('lease-from-nowhere', 'does not start the lease at the claim', 'jobs/claim-is-one-step', {
    jobs: (jobs) => ({
      claim: (which, options) => jobs.claim(which, { ...options, lease: 60_000 }),
    }),
  }),
  broken('racy-claims', 'checks a job first and claims it later', 'jobs/one-claim-wins', { jobs: racyClaims }),
  broken('racy-next', 'returns the same job to concurrent callers', 'jobs/each-job-to-one-worker', {
    jobs: racyClaims,
  }),
  broken('gives-up-early', 'returns no job to workers that lose a race', 'jobs/each-job-to-one-worker', {
    jobs: nextBy((ready) => ready.sort((a, b) => b.priority - a.priority)[0]),
  }),
  broken('claims-forgotten', 'takes another job when a claim is retried', 'jobs/claim-sent-again', {
    jobs: (jobs) => ({ claim: (which, { claimId: _, ...options }) => jobs.claim(which, options) }),
  }),
  broken(
    'ended-claims-forgotten',
    'takes another job when a claim is retried after its job ended',
    'jobs/claim-retried-after-the-end',
    {
      jobs: (jobs) => ({
        async claim(which, options) {
          const claim = await jobs.claim(which, options);
          const isHeld = claim?.job.state === 'claimed' || claim?.job.state === 'running';
          return claim && !isHeld && isNext(which) ? jobs.claim(which, { ...options, claimId: undefined }) : claim;
        },
      }),
    },
  ),
  broken('retries-race', 'looks up the job of a claim and takes one in two steps', 'jobs/claim-retried-at-once', () => {
    const taken = new Map<string, ClaimedJob>();
    return {
      jobs: (jobs) => ({
        async claim(which, { claimId, ...options }) {
          const known = claimId === undefined ? undefined : taken.get(claimId);
          if (known) return known;
          await pause();
          const claim = await jobs.claim(which, options);
          if (claim && claimId !== undefined) taken.set(claimId, { ...claim, claimId });
          return claim && { ...claim, claimId: claimId ?? claim.claimId };
        },
      }),
    };
  }),
  broken('steals-held-jobs', 'lets anyone claim a held job', 'jobs/nothing-to-claim', {
    jobs: (jobs, _, view) => ({
      async claim(which, options) {
        const job = isNext(which) ? null : await jobs.get(which);
        if (job?.state === 'claimed') await view.kv.setField(job.key, 'state', 'pending');
        return jobs.claim(which, options);
      },
    }),
  }),
  broken('deaf-to-heartbeats', 'accepts heartbeats without renewing the lease', 'jobs/signs-of-life', {
    jobs: (jobs) => ({ heartbeat: async (claim) => (await jobs.get(claim))! }),
  }),
  broken('delayed-listed-as-pending', 'lists delayed jobs as pending', 'jobs/listed-by-state', {
    jobs: (jobs) => ({
      async list(state, options) {
        const page = await jobs.list(state, options);
        if (state !== 'pending') return page;
        return { ...page, items: [...page.items, ...(await jobs.list('delayed', options)).items] };
      },
    }),
  }),
  broken('lists-newest-first', 'lists the most recently updated job first', 'jobs/longest-untouched-first', {
    jobs: (jobs) => ({
      async list(state, options) {
        const page = await jobs.list(state, options);
        return { ...page, items: page.items.reverse() };
      },
    }),
  }),
  broken('types-by-prefix', 'skips types that start like another', 'jobs/types-of-a-state', {
    jobs: (jobs) => ({
      async types(state, options) {
        const types = (await jobs.types(state, options)).sort();
        return types.filter((type, at) => at === 0 || !type.startsWith(types[at - 1]!));
      },
    }),
  }),
  broken('sweeps-everything', 'treats every held job as overdue', 'jobs/ended-leases-are-sent-back', {
    jobs: (jobs) => ({
      async overdue(taskType) {
        const held = [...(await every(jobs, 'claimed', taskType)), ...(await every(jobs, 'running', taskType))];
        return held.map((job) => ({ job, reason: 'lease ended' as const }));
      },
    }),
  }),
  broken('threshold-ignored', 'finds only expired leases', 'jobs/overdue-by-threshold', {
    jobs: (jobs) => ({ overdue: (type, options) => jobs.overdue(type, { ...options, threshold: '100d' }) }),
  }),
  broken('counts-signals', 'counts a touch as a retry', 'jobs/signalled-without-counting', {
    jobs: (jobs, _, view) => ({
      async recover(overdue, options) {
        const result = await jobs.recover(overdue, options);
        await view.kv.setField(result.job.key, 'retry_count', result.job.retryCount + 1);
        return { ...result, job: (await jobs.get(overdue.job))! };
      },
    }),
  }),
  broken('due-never-found', 'leaves delayed jobs to the next claim', 'jobs/due-jobs-are-released', {
    jobs: (jobs) => ({
      overdue: async (type, options) => (await jobs.overdue(type, options)).filter(({ reason }) => reason !== 'due'),
    }),
  }),
  broken('recovers-twice', 'recovers a job that another sweeper has recovered', 'jobs/recovered-once', {
    jobs: (jobs) => ({
      async recover(overdue, options) {
        const job = await jobs.get(overdue.job);
        return job && job.state === overdue.job.state
          ? jobs.recover({ ...overdue, job }, options)
          : { outcome: 'requeued', job: job! };
      },
    }),
  }),
  broken('recovers-the-living', 'sends back a job that had a heartbeat', 'jobs/changed-since-seen', {
    jobs: (jobs) => ({
      async recover(overdue, options) {
        const job = await jobs.get(overdue.job);
        return jobs.recover({ ...overdue, job: job ?? overdue.job }, options);
      },
    }),
  }),
  broken(
    'index-read-before-records',
    'reads the index, then records that have changed since',
    'jobs/renewed-leases-are-not-swept',
    {
      jobs: (jobs) => ({
        async overdue(taskType, options) {
          const found = await jobs.overdue(taskType, options);
          await pause();
          return Promise.all(found.map(async ({ job, reason }) => ({ job: (await jobs.get(job)) ?? job, reason })));
        },
      }),
    },
  ),
  broken('ended-jobs-refused', 'refuses to recover a job that has ended', 'jobs/recovery-of-an-ended-job-is-missed', {
    jobs: (jobs) => ({
      async recover(overdue, options) {
        if (isTerminal(overdue.job.state)) throw invalidArgument('overdue.job.state', 'a state that is overdue');
        return jobs.recover(overdue, options);
      },
    }),
  }),
  broken('short-counts', 'reads counts of more than 15 digits as absent', 'jobs/counts-of-any-size', {
    jobs: (jobs) => ({
      async get(job, options) {
        const found = await jobs.get(job, options);
        return found && found.maxRetries >= 1e15 ? { ...found, maxRetries: 3 } : found;
      },
    }),
  }),
  broken('limit-counts-rows', 'counts every record it reads against the limit', 'jobs/ended-jobs-never-eat-the-limit', {
    jobs: (jobs, _, view) => ({
      async overdue(taskType, options) {
        const rows = await all(view.kv.scan(`gbe.state.tasks.${taskType}.`, { maxResults: options.limit }));
        const found = await jobs.overdue(taskType, options);
        return found.filter(({ job }) => rows.some((row) => row.key === job.key));
      },
    }),
  }),
  broken('unannounced-forgotten', 'forgets jobs that a sweep failed', 'jobs/found-until-announced', {
    jobs: (jobs) => ({
      async overdue(type, options) {
        return (await jobs.overdue(type, options)).filter(({ reason }) => reason !== 'not announced');
      },
    }),
  }),
  broken('index-of-its-own', 'finds only jobs that were enqueued', 'jobs/plain-kv-jobs-are-swept', () => {
    const known = new Set<string>();
    return {
      jobs: (jobs) => ({
        async enqueue(job, options) {
          known.add(job.taskId);
          return jobs.enqueue(job, options);
        },
        overdue: async (type, options) =>
          (await jobs.overdue(type, options)).filter(({ job }) => known.has(job.taskId)),
      }),
    };
  }),
  broken('index-lags', 'keeps a job in the list of its first state', 'jobs/index-follows-kv', () => {
    const first = new Map<string, Job[]>();
    return {
      jobs: (jobs) => ({
        async list(state, options) {
          const page = await jobs.list(state, options);
          if (!first.has(state)) first.set(state, page.items);
          return { items: first.get(state)! };
        },
      }),
    };
  }),
  broken('chokes-on-fields', 'does not claim a job whose times are not numbers', 'jobs/hostile-fields', {
    jobs: (jobs, _, view) => ({
      async claim(which, options) {
        const record = isNext(which) ? null : await view.kv.get((await jobs.get(which))?.key ?? 'none');
        const createdAt = Buffer.from(record?.fields.created_at ?? '1').toString();
        return Number.isNaN(Number(createdAt)) ? null : jobs.claim(which, options);
      },
    }),
  }),
  broken('fields-unchecked', 'lets callers write reserved fields', 'jobs/wrong-arguments', {
    jobs: (jobs) => ({ enqueue: ({ fields: _, ...job }, options) => jobs.enqueue(job, options) }),
  }),
];

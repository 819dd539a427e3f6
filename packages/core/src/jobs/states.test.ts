import { describe, expect, it } from 'vitest';
import { isTidemarkError } from '../contracts/errors.ts';
import {
  JOB_STATES,
  type Job,
  type JobClaim,
  type JobRef,
  type JobState,
  type OverdueReason,
} from '../contracts/jobs.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';
import {
  claimLost,
  HELD_STATES,
  isHeld,
  isJobState,
  isTerminal,
  JOB_MOVES,
  type JobMoveName,
  mayMove,
  targetOf,
} from './states.ts';

const REF: JobRef = { taskType: 'mail', taskId: 'one' };
const MOVES = Object.keys(JOB_MOVES) as JobMoveName[];

/** Brings a new job into a state. Outside the held states the returned claim is lost. */
async function jobIn(state: JobState, store: Store): Promise<{ job: Job; claim: JobClaim }> {
  const { jobs } = store;
  await jobs.enqueue({ ...REF, maxRetries: 1 });
  const claim = (await jobs.claim(REF, { worker: 'w', lease: 1 }))!;
  if (state === 'pending') await jobs.fail(claim, { error: 'again' });
  if (state === 'running') await jobs.progress(claim, { currentStep: 1 });
  if (state === 'completed') await jobs.complete(claim);
  if (state === 'failed') await jobs.fail(claim, { error: 'for good', retry: false });
  if (state === 'cancelled') await jobs.cancel(REF);
  const job = (await jobs.get(REF))!;
  expect(job.state).toBe(state);
  return { job, claim };
}

/** The call behind each move. */
const CALLS: Record<JobMoveName, (store: Store, seen: { job: Job; claim: JobClaim }) => Promise<unknown>> = {
  claim: ({ jobs }) => jobs.claim(REF, { worker: 'other' }),
  heartbeat: ({ jobs }, { claim }) => jobs.heartbeat(claim),
  advance: ({ jobs }, { claim }) => jobs.progress(claim, { currentStep: 2 }),
  complete: ({ jobs }, { claim }) => jobs.complete(claim),
  sendBack: ({ jobs }, { claim }) => jobs.fail(claim, { error: 'again' }),
  park: ({ jobs }, { claim }) => jobs.park(claim, { delay: '1h' }),
  fail: ({ jobs }, { claim }) => jobs.fail(claim, { error: 'for good', retry: false }),
  takeBack: ({ jobs }, { job }) => recovered(jobs, job, 'lease ended'),
  giveUp: ({ jobs }, { job }) => recovered(jobs, { ...job, retryCount: 1, maxRetries: 1 }, 'lease ended'),
  takeOver: async ({ jobs }, { job }) => {
    // A pending job would be claimed without a takeover.
    if (job.state === 'pending') return;
    await new Promise((resolve) => setTimeout(resolve, 5));
    await jobs.claim(REF, { worker: 'other', takeExpired: true });
  },
  release: ({ jobs }, { job }) => recovered(jobs, job, 'due'),
  wake: ({ jobs }) => jobs.wake(REF),
  signal: ({ jobs }, { job }) => recovered(jobs, job, 'not claimed'),
  announce: ({ jobs }, { job }) => recovered(jobs, job, 'not announced'),
  cancel: ({ jobs }) => jobs.cancel(REF),
  requeue: ({ jobs }) => jobs.requeue(REF),
};

async function recovered(jobs: Store['jobs'], job: Job, reason: OverdueReason): Promise<void> {
  await jobs.recover({ job, reason });
}

/** Calls a move and returns the job's state afterwards. */
async function stateAfter(name: JobMoveName, state: JobState): Promise<JobState> {
  const store = memoryStore();
  const seen = await jobIn(state, store);
  await CALLS[name](store, seen).catch((error: unknown) => {
    if (!isTidemarkError(error, 'CLAIM_LOST', 'CONFLICT', 'INVALID_ARGUMENT')) throw error;
  });
  const after = (await store.jobs.get(REF))!.state;
  await store.close();
  return after;
}

describe('the job machine (KV-7)', () => {
  it('has three final states, which only a requeue leaves', () => {
    expect(JOB_STATES.filter(isTerminal)).toEqual(['completed', 'failed', 'cancelled']);
    const leaving = MOVES.filter(
      (name) => targetOf(name) && JOB_STATES.some((it) => isTerminal(it) && mayMove(it, name)),
    );
    expect(leaving).toEqual(['requeue']);
  });

  it('lists every move out of the held states that ends the worker claim', () => {
    const leaving = MOVES.filter(
      (name) => HELD_STATES.every((it) => mayMove(it, name)) && !isHeld(targetOf(name) ?? null),
    );
    expect(leaving).toEqual(['heartbeat', 'complete', 'sendBack', 'park', 'fail', 'takeBack', 'giveUp', 'cancel']);
  });

  it.for(MOVES.flatMap((name) => JOB_STATES.map((state) => [name, state] as const)))(
    'applies %s to a job that is %s as the table says',
    async ([name, state]) => {
      expect(await stateAfter(name, state)).toBe(mayMove(state, name) ? (targetOf(name) ?? state) : state);
    },
  );

  it('knows its states by name', () => {
    expect(JOB_STATES.every(isJobState)).toBe(true);
    expect(['', 'done', 'Pending', null].some(isJobState)).toBe(false);
  });

  it('reports the job state to a worker that lost its claim', () => {
    expect(claimLost('completed')).toMatchObject({ code: 'CLAIM_LOST', field: 'claimId', current: 'completed' });
    expect(claimLost(null).message).toContain('no such job');
  });
});

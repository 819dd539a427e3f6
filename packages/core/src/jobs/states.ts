/** Which state a job may move to, and who may move it: the rules behind claims and fencing (KV-7). */
import { TidemarkError } from '../contracts/errors.ts';
import type { JobState } from '../contracts/jobs.ts';

const NEXT: Record<JobState, readonly JobState[]> = {
  pending: ['claimed', 'cancelled', 'failed'],
  claimed: ['running', 'completed', 'failed', 'cancelled', 'pending'],
  running: ['running', 'completed', 'failed', 'cancelled', 'pending'],
  completed: [],
  failed: [],
  cancelled: [],
};

/** Whether a text is a state of jobs. */
export function isJobState(text: string | null): text is JobState {
  return text !== null && Object.hasOwn(NEXT, text);
}

/** Terminal states are final; a failed job comes back only by being requeued on purpose. */
export function isTerminal(state: JobState): boolean {
  return NEXT[state].length === 0;
}

export function mayMove(from: JobState, to: JobState): boolean {
  return NEXT[from].includes(to);
}

/** Tells a worker that its claim is not the job's current one: it lost its lease and has changed nothing. */
export function claimLost(state: JobState | null): TidemarkError {
  const now = state === null ? 'There is no such job' : `The job is ${state} and no longer belongs to this claim`;
  return new TidemarkError('CLAIM_LOST', `${now}; stop working on it`, {
    field: 'claimId',
    rule: 'the current claim of the job',
    current: state,
  });
}

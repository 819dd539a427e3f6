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

/** Terminal states are final; a failed job comes back only by being requeued on purpose. */
export function isTerminal(state: JobState): boolean {
  return NEXT[state].length === 0;
}

export function mayMove(from: JobState, to: JobState): boolean {
  return NEXT[from].includes(to);
}

/** Refuses a worker whose claim is not the job's current one: it lost its lease and must change nothing. */
export function checkClaim(job: { claim_id?: string; state: JobState }, claimId: string): void {
  if (job.claim_id === claimId && !isTerminal(job.state)) return;
  throw new TidemarkError(
    'CLAIM_LOST',
    `The job is ${job.state} and no longer belongs to this claim; stop working on it`,
    {
      current: job.state,
    },
  );
}

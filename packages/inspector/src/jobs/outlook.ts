/** Explains the state of a job and what happens next. */
import type { Job } from '@tidemark/core/portable';
import { durationText } from '../parts/durations.ts';

export interface Outlook {
  why: string;
  next: string;
}

export function outlookOf(job: Job, now: number): Outlook {
  const { state, taskType, worker = 'its worker', timeoutAt, runAt, error } = job;
  if (state === 'pending' && runAt !== undefined && runAt > now)
    return {
      // A parked job still has the error of an earlier attempt.
      why: `It is scheduled for later.${error === undefined ? '' : ` The last attempt that failed: ${error}`}`,
      next: `Workers of ${taskType} can claim it in ${durationText(runAt - now)}.`,
    };
  if (state === 'pending')
    return {
      why: `No worker has claimed it for ${since(job.updatedAt, now)}.${error === undefined ? '' : ` The last attempt failed: ${error}`}`,
      next: `The next worker that asks for ${taskType} claims it, after jobs of a higher priority.`,
    };
  if (state === 'claimed' || state === 'running') {
    if (timeoutAt !== undefined && timeoutAt <= now)
      return {
        why: `The lease of ${worker} ended ${since(timeoutAt, now)} ago without a heartbeat.`,
        next: nextSweepText(job),
      };
    const left = timeoutAt === undefined ? '' : ` for another ${durationText(timeoutAt - now)}`;
    return {
      why: `${worker} holds it${left}; its last update was ${since(job.updatedAt, now)} ago.`,
      next: 'A heartbeat renews the lease. If the lease ends first, a sweep takes the job back.',
    };
  }
  if (state === 'failed')
    return {
      why: `It failed permanently${retriesText(job)}: ${error ?? 'no error message'}`,
      next: 'Nothing, until it is requeued. Its retry count then starts at 0.',
    };
  if (state === 'cancelled') return { why: 'It was cancelled.', next: 'Nothing, until it is requeued.' };
  return { why: 'It completed.', next: 'Nothing: completed jobs are final.' };
}

/** Describes what the next sweep does with a job whose lease has ended. */
function nextSweepText({ retryCount, maxRetries }: Job): string {
  if (retryCount >= maxRetries) return 'The next sweep fails it permanently: it has no retries left.';
  return `The next sweep sends it back to pending, retry ${retryCount + 1} of ${maxRetries}.`;
}

function retriesText({ retryCount }: Job): string {
  if (retryCount === 0) return '';
  return retryCount === 1 ? ' after 1 retry' : ` after ${retryCount} retries`;
}

function since(at: number, now: number): string {
  return durationText(Math.max(0, now - at));
}

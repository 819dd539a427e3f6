/** Why a job stands where it stands, and what happens to it next. */
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
      why: error === undefined ? 'It waits for its time.' : `It failed and waits before the next try: ${error}`,
      next: `Workers of ${taskType} can take it in ${durationText(runAt - now)}.`,
    };
  if (state === 'pending')
    return {
      why: `No worker has taken it for ${since(job.updatedAt, now)}.${error === undefined ? '' : ` The last try failed: ${error}`}`,
      next: `The next worker that asks for ${taskType} takes it, jobs of a higher priority first.`,
    };
  if (state === 'claimed' || state === 'running') {
    if (timeoutAt !== undefined && timeoutAt <= now)
      return {
        why: `The lease of ${worker} ended ${since(timeoutAt, now)} ago without a sign of life.`,
        next: sweepOf(job),
      };
    const left = timeoutAt === undefined ? '' : ` for another ${durationText(timeoutAt - now)}`;
    return {
      why: `${worker} holds it${left}; its last sign of life was ${since(job.updatedAt, now)} ago.`,
      next: 'It goes on with the next sign of life. Without one until the lease ends, a sweep gives it to somebody else.',
    };
  }
  if (state === 'failed')
    return {
      why: `It failed for good${triesOf(job)}: ${error ?? 'no error was given'}`,
      next: 'Nothing, until somebody requeues it. Its retries are then counted from 0.',
    };
  if (state === 'cancelled') return { why: 'Somebody cancelled it.', next: 'Nothing, until somebody requeues it.' };
  return { why: 'It ended as it should.', next: 'Nothing: completed jobs are final.' };
}

/** What the sweeper does with a job whose worker is silent. */
function sweepOf({ retryCount, maxRetries }: Job): string {
  if (retryCount >= maxRetries) return 'The next sweep fails it for good: it has no retries left.';
  return `The next sweep sends it back to pending, retry ${retryCount + 1} of ${maxRetries}.`;
}

function triesOf({ retryCount }: Job): string {
  if (retryCount === 0) return '';
  return retryCount === 1 ? ' after 1 retry' : ` after ${retryCount} retries`;
}

function since(at: number, now: number): string {
  return durationText(Math.max(0, now - at));
}

/**
 * Job signals (003, KV-8): a job is waiting, has reached a step, or has ended. The store remains the source of truth.
 */
import { isTerminal, type Job, type JobState } from '@tidemark/core';

/** `queue`: a job waits to be claimed. `progress`: a job has reached a step. `terminal`: a job has ended. */
export type SignalKind = 'queue' | 'progress' | 'terminal';

/**
 * The state of a job after a write. Signals may arrive twice or late, but their content is always a state that was
 * stored.
 */
export interface JobSignal {
  kind: SignalKind;
  taskType: string;
  taskId: string;
  key: string;
  state: JobState;
  revision: number;
  retryCount: number;
  currentStep?: number;
  stepCount?: number;
  error?: string;
  resultRef?: string;
}

/**
 * Publishes a signal. Resolves once the transport has accepted it. The sweeper retries a signal that could not be
 * published.
 */
export type Publish = (subject: string, signal: JobSignal) => Promise<void>;

/** Returns the subject `gbe.tasks.{type}.{kind}`. */
export function subjectOf(taskType: string, kind: SignalKind): string {
  return `gbe.tasks.${taskType}.${kind}`;
}

/** Returns the signal for a job's current state. */
export function signalOf(job: Job, kind: SignalKind = kindOf(job.state)): JobSignal {
  const { taskType, taskId, key, state, revision, retryCount } = job;
  const signal: JobSignal = { kind, taskType, taskId, key, state, revision, retryCount };
  if (job.currentStep !== undefined) signal.currentStep = job.currentStep;
  if (job.stepCount !== undefined) signal.stepCount = job.stepCount;
  if (job.error !== undefined) signal.error = job.error;
  if (job.resultRef !== undefined) signal.resultRef = job.resultRef;
  return signal;
}

function kindOf(state: JobState): SignalKind {
  if (state === 'pending') return 'queue';
  return isTerminal(state) ? 'terminal' : 'progress';
}

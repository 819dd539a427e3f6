/** What is told about jobs, to whom (003, KV-8): signals that work waits, goes on or has ended. The store stays the truth. */
import { isTerminal, type Job, type JobState } from '@tidemark/core';

/** `queue`: a job waits to be claimed. `progress`: one has reached a step. `terminal`: one has ended. */
export type SignalKind = 'queue' | 'progress' | 'terminal';

/** A job as it stood after the write that the signal tells of. Signals may come twice and late; they may never lie. */
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

/** Sends a signal on its way. Resolves once it is with the transport; a signal whose sending fails is sent again. */
export type Publish = (subject: string, signal: JobSignal) => Promise<void>;

/** `gbe.tasks.{type}.{kind}`. */
export function subjectOf(taskType: string, kind: SignalKind): string {
  return `gbe.tasks.${taskType}.${kind}`;
}

/** The signal that a job calls for as it stands. */
export function signalOf(job: Job, kind: SignalKind = kindOf(job.state)): JobSignal {
  const { taskType, taskId, key, state, revision, retryCount, currentStep, stepCount, error, resultRef } = job;
  const signal = { kind, taskType, taskId, key, state, revision, retryCount };
  const more = { currentStep, stepCount, error, resultRef };
  return { ...signal, ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)) };
}

function kindOf(state: JobState): SignalKind {
  if (state === 'pending') return 'queue';
  return isTerminal(state) ? 'terminal' : 'progress';
}

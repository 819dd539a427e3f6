/** The transition table for runs and steps (RUN-11). */
import type { RunStatus, StepStatus } from '../contracts/run-state.ts';

/** The states in which each run event is allowed, and the state it leads to. `null` is a run without a state yet. */
const RUN_TRANSITIONS: Record<string, { from: readonly (RunStatus | null)[]; to: RunStatus }> = {
  RunQueued: { from: [null], to: 'PENDING' },
  RunStarted: { from: [null, 'PENDING'], to: 'RUNNING' },
  RunPaused: { from: ['RUNNING'], to: 'PAUSED' },
  RunResumed: { from: ['PAUSED'], to: 'RUNNING' },
  RunCompleted: { from: ['RUNNING'], to: 'COMPLETED' },
  RunFailed: { from: ['PENDING', 'RUNNING', 'PAUSED'], to: 'FAILED' },
  RunCancelled: { from: ['PENDING', 'RUNNING', 'PAUSED'], to: 'CANCELLED' },
};

const STEP_TYPES = new Set(['StepStarted', 'StepCompleted', 'StepFailed', 'StepSkipped']);

export function isRunType(eventType: string): boolean {
  return Object.hasOwn(RUN_TRANSITIONS, eventType);
}

export function isStepType(eventType: string): boolean {
  return STEP_TYPES.has(eventType);
}

/** The state that a transition leads to, or the reason why it is invalid. */
export type Transition<S> = { to: S; reason?: undefined } | { to?: undefined; reason: string };

export function runTransition(status: RunStatus | null, eventType: string): Transition<RunStatus> {
  const rule = RUN_TRANSITIONS[eventType]!;
  if (rule.from.includes(status)) return { to: rule.to };
  return { reason: status === null ? 'the run has not started' : `the run is ${status}` };
}

/**
 * Returns the status of a run after an event. Invalid transitions, step events and unknown types leave it unchanged.
 */
export function nextRunStatus(status: RunStatus | null, eventType: string): RunStatus | null {
  return isRunType(eventType) ? (runTransition(status, eventType).to ?? status) : status;
}

export function stepTransition(
  run: RunStatus | null,
  step: { status: StepStatus; logicalAttemptId: number } | undefined,
  event: { eventType: string; logicalAttemptId: number },
): Transition<StepStatus> {
  switch (event.eventType) {
    case 'StepStarted':
      if (run !== 'RUNNING') return { reason: runIs(run) };
      if (!step) return { to: 'RUNNING' };
      if (step.status !== 'FAILED') return { reason: `the step is ${step.status}` };
      if (event.logicalAttemptId > step.logicalAttemptId) return { to: 'RUNNING' };
      return { reason: `attempt ${event.logicalAttemptId} is not later than ${step.logicalAttemptId}` };
    case 'StepSkipped':
      return step ? { reason: `the step is ${step.status}` } : { to: 'SKIPPED' };
    default:
      if (run !== 'RUNNING' && run !== 'PAUSED') return { reason: runIs(run) };
      if (step?.status !== 'RUNNING')
        return { reason: step ? `the step is ${step.status}` : 'the step has not started' };
      return { to: event.eventType === 'StepCompleted' ? 'SUCCESS' : 'FAILED' };
  }
}

function runIs(status: RunStatus | null): string {
  return status === null ? 'the run has not started' : `the run is ${status}`;
}

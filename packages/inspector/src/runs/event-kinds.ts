/** Event types: which of them change the state, which are failures, and their icons. */
import type { LifecycleEventType, RunEventRecord } from '@tidemark/core/portable';
import type { IconName } from '../parts/icons.tsx';
import type { Tone } from '../parts/status.tsx';

const LOOKS: Record<LifecycleEventType, { icon: IconName; tone: Tone }> = {
  RunQueued: { icon: 'ring', tone: 'quiet' },
  RunStarted: { icon: 'play', tone: 'busy' },
  RunPaused: { icon: 'pause', tone: 'warn' },
  RunResumed: { icon: 'play', tone: 'busy' },
  RunCompleted: { icon: 'check', tone: 'good' },
  RunFailed: { icon: 'cross', tone: 'bad' },
  RunCancelled: { icon: 'close', tone: 'quiet' },
  StepStarted: { icon: 'play', tone: 'busy' },
  StepCompleted: { icon: 'check', tone: 'good' },
  StepFailed: { icon: 'cross', tone: 'bad' },
  StepSkipped: { icon: 'skip', tone: 'quiet' },
};

export const LIFECYCLE_TYPES = Object.keys(LOOKS) as LifecycleEventType[];

export function lookOf(eventType: string): { icon: IconName; tone: Tone } {
  return isLifecycle(eventType) ? LOOKS[eventType] : { icon: 'dot', tone: 'quiet' };
}

/** Whether the type changes the snapshot. All other types are custom. */
export function isLifecycle(eventType: string): eventType is LifecycleEventType {
  return Object.hasOwn(LOOKS, eventType);
}

export function isFailure({ eventType }: Pick<RunEventRecord, 'eventType'>): boolean {
  return eventType === 'StepFailed' || eventType === 'RunFailed';
}

/** Returns the time between emitting and storing an event, in milliseconds. */
export function skewOf({ emittedAt, persistedAt }: RunEventRecord): number {
  return Date.parse(persistedAt) - Date.parse(emittedAt);
}

/** An event is flagged if its two clocks differ by at least this much. */
export const NOTABLE_SKEW_MS = 5_000;

/**
 * Finds the cause of a failure among the last events of a run: a failed step that was not retried, or otherwise the
 * failure of the run. Returns `null` if these events contain no cause.
 */
export function failureAmong(events: readonly RunEventRecord[]): RunEventRecord | null {
  const lastStart = new Map<string, number>();
  let ofRun: RunEventRecord | null = null;
  for (const event of events.toReversed()) {
    if (event.eventType === 'RunCompleted') return null;
    if (event.eventType === 'RunFailed') ofRun ??= event;
    const started = lastStart.get(event.stepId ?? '') ?? 0;
    if (event.eventType === 'StepStarted') lastStart.set(event.stepId!, Math.max(started, event.logicalAttemptId));
    if (event.eventType === 'StepFailed' && started <= event.logicalAttemptId) return event;
  }
  return ofRun;
}

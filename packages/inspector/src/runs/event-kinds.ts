/** What the types of events mean to a reader: which drive the state, which tell of a failure, and how they look. */
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

/** Whether the type drives the snapshot; any other is the producer's own. */
export function isLifecycle(eventType: string): eventType is LifecycleEventType {
  return Object.hasOwn(LOOKS, eventType);
}

export function isFailure({ eventType }: Pick<RunEventRecord, 'eventType'>): boolean {
  return eventType === 'StepFailed' || eventType === 'RunFailed';
}

/** How much later than its producer says an event was stored, in milliseconds. */
export function skewOf({ emittedAt, persistedAt }: RunEventRecord): number {
  return Date.parse(persistedAt) - Date.parse(emittedAt);
}

/** From here on the difference between the two clocks is worth a mark. */
export const NOTABLE_SKEW_MS = 5_000;

/**
 * The event that tells why a run is not well, among its last ones: the failed step that nobody started again, else the
 * failure of the run. `null` where all is well, or it lies further back.
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

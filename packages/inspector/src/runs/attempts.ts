/** The attempts of each step, from the run's events, or from its snapshot if the events were not read. */
import type { RunEventRecord, RunSnapshot, StepStatus } from '@tidemark/core/portable';

export interface Attempt {
  stepId: string;
  attempt: number;
  status: StepStatus | 'PAUSED';
  /** Milliseconds since the epoch, by the clock of the event's producer. */
  start: number;
  /** The end of the attempt; `null` while it is running. */
  end: number | null;
  /** The sequence of the event that started the attempt; `null` if only the snapshot is known. */
  seq: number | null;
  /** The error of a failed attempt. */
  error?: string;
}

const ENDS: Record<string, StepStatus> = { StepCompleted: 'SUCCESS', StepFailed: 'FAILED' };
const TERMINAL = new Set(['RunCompleted', 'RunFailed', 'RunCancelled']);
/** The lane for the times during which the run was paused. */
const PAUSED_LANE = 'paused';

/** Returns all attempts, with steps in the order in which they first started. */
export function attemptsOf(events: readonly RunEventRecord[]): Attempt[] {
  let ended: number | null = null;
  const lanes = new Map<string, Attempt[]>();
  const lane = (stepId: string) => {
    const known = lanes.get(stepId) ?? [];
    lanes.set(stepId, known);
    return known;
  };
  for (const event of events) {
    const at = Date.parse(event.emittedAt);
    const { eventType, stepId = '', runSeq: seq, logicalAttemptId: attempt } = event;
    // Attempts that are not later than the previous one are ignored, as in the snapshot.
    if (eventType === 'StepStarted' && attempt > (lanes.get(stepId)?.at(-1)?.attempt ?? 0))
      lane(stepId).push({ stepId, attempt, status: 'RUNNING', start: at, end: null, seq });
    else if (eventType === 'StepSkipped')
      lane(stepId).push({ stepId, attempt, status: 'SKIPPED', start: at, end: at, seq });
    else if (eventType === 'RunPaused')
      lane(PAUSED_LANE).push({ stepId: PAUSED_LANE, attempt: 1, status: 'PAUSED', start: at, end: null, seq });
    else if (eventType === 'RunResumed') endLast(lanes.get(PAUSED_LANE), at);
    else if (ENDS[eventType]) endLast(lanes.get(stepId), at, ENDS[eventType], errorOf(event));
    else if (TERMINAL.has(eventType)) ended ??= at;
  }
  const attempts = [...lanes.values()].flat();
  // Attempts without an end event end with the run.
  if (ended !== null) for (const attempt of attempts) attempt.end ??= Math.max(ended, attempt.start);
  return attempts;
}

function endLast(lane: Attempt[] | undefined, end: number, status?: StepStatus, error?: string): void {
  const last = lane?.at(-1);
  if (!last || last.end !== null) return;
  last.end = end;
  if (status) last.status = status;
  if (error) last.error = error;
}

function errorOf({ payload }: RunEventRecord): string {
  return [payload?.errorCode, payload?.errorMessage].filter((text) => typeof text === 'string').join(': ');
}

/** Returns the last attempt of each step, which is all that the snapshot contains. */
export function lastAttemptsOf({ steps }: RunSnapshot): Attempt[] {
  return steps.flatMap(({ stepId, status, logicalAttemptId: attempt, startedAt, completedAt, error }) => {
    const start = startedAt ?? completedAt;
    if (start === undefined) return [];
    const end = completedAt === undefined ? null : Date.parse(completedAt);
    const text = [error?.code, error?.message].filter(Boolean).join(': ');
    return [{ stepId, status, attempt, start: Date.parse(start), end, seq: null, ...(text ? { error: text } : {}) }];
  });
}

/** The reducer that every backend uses: folds events into a run's snapshot (RUN-10, RUN-11). */
import { timeText } from '../checks/numbers.ts';
import { isPlainObject } from '../checks/text.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunArtifact, RunEventRecord } from '../contracts/run-events.ts';
import {
  hasRunEnded,
  type RunFailure,
  type RunSnapshot,
  type RunStatus,
  type StepSnapshot,
  type TransitionViolation,
} from '../contracts/run-state.ts';
import { isRunType, isStepType, runTransition, stepTransition } from './transitions.ts';

const MAX_VIOLATIONS = 100;

/**
 * Folds events into the state of a run, one at a time and in sequence order. The cost per event does not depend on the
 * number of steps. `snapshot()` returns a copy of the state.
 *
 * @example
 * await store.runs.handle('order-42').append('RunStarted');
 * const fold = new RunFold();
 * for await (const event of store.runs.readEvents('order-42')) fold.apply(event);
 * console.log(fold.snapshot(Date.now()).status); // RUNNING
 */
export class RunFold {
  #state: Omit<RunSnapshot, 'status' | 'projectedAt'> | null = null;
  #status: RunStatus | null = null;
  readonly #steps = new Map<string, StepSnapshot>();

  readonly #life: number | undefined;

  /** Starts from a copy of a snapshot, or from the empty state of a life. */
  constructor(from?: RunSnapshot | null, life = from?.life) {
    this.#life = life === 1 ? undefined : life;
    if (!from) return;
    const { status, projectedAt, ...rest } = structuredClone(from);
    // The fold reads the log, so its result is fresh even if the snapshot was marked stale.
    this.#state = { ...rest, freshness: 'FRESH' };
    // Version 0.1 did not count invalid events; count the ones it listed.
    if (rest.violations.length > 0) this.#state.invalidEvents ??= rest.violations.length;
    // PENDING also stands for "no status yet". The status is really PENDING only after RunQueued.
    this.#status = status === 'PENDING' && rest.startedAt === undefined && !isQueued(from) ? null : status;
    for (const step of rest.steps) this.#steps.set(step.stepId, step);
  }

  /** The sequence of the last folded event, 0 before the first. */
  get lastEventSeq(): number {
    return this.#state?.lastEventSeq ?? 0;
  }

  /**
   * The current state itself and not a copy. Read it before the next `apply`, and do not change it. `null` before the
   * first event.
   */
  get state(): Readonly<Omit<RunSnapshot, 'projectedAt'>> | null {
    return this.#state && { ...this.#state, status: this.#status ?? 'PENDING' };
  }

  /**
   * Folds the next event and returns its transition violation, or `null` when the event is valid. Ignores events that
   * were already folded.
   *
   * @throws `INVALID_ARGUMENT` for an event of another run.
   */
  apply(event: RunEventRecord): TransitionViolation | null {
    this.#state ??= this.#life === undefined ? emptyState(event) : { ...emptyState(event), life: this.#life };
    const state = this.#state;
    if (event.runSeq <= state.lastEventSeq) return null;
    if (event.runId !== state.runId) {
      throw new TidemarkError('INVALID_ARGUMENT', 'Events of different runs cannot be folded together', {
        field: 'runId',
      });
    }
    state.lastEventSeq = event.runSeq;
    if (event.redacted) state.redactions = (state.redactions ?? 0) + 1;
    const reason = isRunType(event.eventType)
      ? this.#applyToRun(state, event)
      : isStepType(event.eventType)
        ? this.#applyToStep(state, event)
        : undefined;
    return reason === undefined ? null : markInvalid(state, event, reason);
  }

  /**
   * Returns a copy of the state as a snapshot projected at `now`, in milliseconds since the epoch.
   *
   * @throws `RUN_NOT_FOUND` before the first event.
   */
  snapshot(now: number): RunSnapshot {
    if (!this.#state) throw new TidemarkError('RUN_NOT_FOUND', 'The run has no events');
    const { steps, artifacts, violations, ...rest } = this.#state;
    return {
      ...rest,
      status: this.#status ?? 'PENDING',
      steps: steps.map((step) => ({ ...step, artifacts: [...step.artifacts] })),
      artifacts: [...artifacts],
      violations: [...violations],
      projectedAt: timeText(now),
      version: rest.version + 1,
    };
  }

  #applyToRun(state: Omit<RunSnapshot, 'status' | 'projectedAt'>, event: RunEventRecord): string | undefined {
    const { to, reason } = runTransition(this.#status, event.eventType);
    if (to === undefined) return reason;
    this.#status = to;
    if (event.eventType === 'RunQueued') state.queued = true;
    if (event.eventType === 'RunStarted') state.startedAt = event.emittedAt;
    if (hasRunEnded(to)) {
      state.completedAt = event.emittedAt;
      if (state.startedAt !== undefined) state.totalDurationMs = duration(state.startedAt, event.emittedAt);
      state.artifacts.push(...artifactsOf(event));
      if (to === 'FAILED') state.error = failureOf(event);
    }
    return undefined;
  }

  #applyToStep(state: Omit<RunSnapshot, 'status' | 'projectedAt'>, event: RunEventRecord): string | undefined {
    const stepId = event.stepId!;
    const known = this.#steps.get(stepId);
    const { to, reason } = stepTransition(this.#status, known, event);
    if (to === undefined) return reason;
    const step = known ?? { stepId, status: to, logicalAttemptId: 1, engineAttemptId: 1, artifacts: [] };
    if (!known) {
      this.#steps.set(stepId, step);
      state.steps.push(step);
    }
    step.status = to;
    step.logicalAttemptId = event.logicalAttemptId;
    step.engineAttemptId = event.engineAttemptId;
    if (to === 'RUNNING') {
      step.startedAt = event.emittedAt;
      delete step.completedAt;
      delete step.durationMs;
      delete step.error;
      return undefined;
    }
    step.completedAt = event.emittedAt;
    if (step.startedAt !== undefined) step.durationMs = duration(step.startedAt, event.emittedAt);
    const artifacts = artifactsOf(event);
    step.artifacts.push(...artifacts);
    state.artifacts.push(...artifacts);
    if (to === 'FAILED') step.error = failureOf(event);
    return undefined;
  }
}

/**
 * Folds events into a snapshot, starting from `options.from` if given. Events must be of one run and in sequence order.
 * Events that the starting snapshot already covers are ignored.
 *
 * @throws `RUN_NOT_FOUND` when there is neither an event nor a starting snapshot, `INVALID_ARGUMENT` for events of
 * different runs.
 *
 * @example
 * const run = store.runs.handle('order-42');
 * await run.append('RunStarted');
 * await run.append('RunCompleted');
 * console.log(reduceRun(await store.runs.fetchEvents('order-42')).status); // COMPLETED
 */
export function reduceRun(
  events: Iterable<RunEventRecord>,
  options: { from?: RunSnapshot | null; now?: number } = {},
): RunSnapshot {
  const fold = new RunFold(options.from);
  for (const event of events) fold.apply(event);
  return fold.snapshot(options.now ?? Date.now());
}

function isQueued(snapshot: RunSnapshot): boolean {
  return snapshot.queued === true;
}

function emptyState(event: RunEventRecord): Omit<RunSnapshot, 'status' | 'projectedAt'> {
  const { runId, tenantId, projectId, environmentId, planId, planVersion } = event;
  return {
    ...{ runId, tenantId, projectId, environmentId, planId, planVersion },
    lastEventSeq: 0,
    steps: [],
    artifacts: [],
    consistency: 'CONSISTENT',
    violations: [],
    freshness: 'FRESH',
    version: 0,
  };
}

function markInvalid(
  state: Omit<RunSnapshot, 'status' | 'projectedAt'>,
  event: RunEventRecord,
  reason: string,
): TransitionViolation {
  const { runSeq, eventId, eventType, stepId } = event;
  const violation = { runSeq, eventId, eventType, ...(stepId === undefined ? {} : { stepId }), reason };
  state.consistency = 'INCONSISTENT';
  state.invalidEvents = (state.invalidEvents ?? 0) + 1;
  if (state.violations.length < MAX_VIOLATIONS) state.violations.push(violation);
  return violation;
}

function duration(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}

function failureOf(event: RunEventRecord): RunFailure {
  const { errorCode, errorMessage, retryable } = event.payload ?? {};
  return {
    ...(typeof errorCode === 'string' ? { code: errorCode } : {}),
    ...(typeof errorMessage === 'string' ? { message: errorMessage } : {}),
    ...(typeof retryable === 'boolean' ? { retryable } : {}),
  };
}

function artifactsOf(event: RunEventRecord): RunArtifact[] {
  const artifacts = event.payload?.artifacts;
  if (!Array.isArray(artifacts)) return [];
  return artifacts.filter((it) => isPlainObject(it) && typeof it.uri === 'string' && typeof it.kind === 'string');
}

/** The snapshot of a run: its state, folded from its events. */
import type { RunArtifact } from './run-events.ts';

/** Statuses of runs that have ended. */
export const ENDED_RUN_STATUSES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

/** All statuses of a run. */
// A pure call: bundlers do not remove an unused list that spreads another.
export const RUN_STATUSES = /* @__PURE__ */ (() => ['PENDING', 'RUNNING', 'PAUSED', ...ENDED_RUN_STATUSES] as const)();

/** The status of a run. */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Returns whether a run with this status has ended. */
export function hasRunEnded(status: RunStatus): boolean {
  return (ENDED_RUN_STATUSES as readonly RunStatus[]).includes(status);
}

/** The status of a step. */
export type StepStatus = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED' | 'SKIPPED';

/** Why a step or run failed. */
export interface RunFailure {
  code?: string;
  message?: string;
  retryable?: boolean;
}

/** The state of one step. */
export interface StepSnapshot {
  stepId: string;
  status: StepStatus;
  logicalAttemptId: number;
  engineAttemptId: number;
  startedAt?: string;
  completedAt?: string;
  durationMs?: number;
  artifacts: RunArtifact[];
  error?: RunFailure;
}

/** An event that the state of the run did not allow. */
export interface TransitionViolation {
  runSeq: number;
  eventId: string;
  eventType: string;
  stepId?: string;
  reason: string;
}

/** The state of a run, folded from its events. */
export interface RunSnapshot {
  runId: string;
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  /** The sequence of the last event that was folded in. */
  lastEventSeq: number;
  /** The steps in order of first appearance. */
  steps: StepSnapshot[];
  artifacts: RunArtifact[];
  error?: RunFailure;
  /** True after a `RunQueued`. Distinguishes a queued run from one whose events have not set a status yet. */
  queued?: boolean;
  startedAt?: string;
  completedAt?: string;
  totalDurationMs?: number;
  /** `INCONSISTENT` after the first invalid transition. */
  consistency: 'CONSISTENT' | 'INCONSISTENT';
  /** The first hundred invalid transitions. */
  violations: TransitionViolation[];
  /** The number of invalid events, including those beyond the first hundred. Absent if there are none. */
  invalidEvents?: number;
  /** `STALE` after `markStale`, until the snapshot is refreshed. */
  freshness: 'FRESH' | 'STALE';
  projectedAt: string;
  /** The life of the run. Absent in its first life. */
  life?: number;
  /** The number of events that were redacted when they were folded. Absent if there are none. */
  redactions?: number;
  /** Increases with every snapshot that is stored for the run. */
  version: number;
}

/** The result of `refreshSnapshot`. */
export interface RefreshedSnapshot {
  snapshot: RunSnapshot;
  /** The number of events that were folded into the previously stored snapshot. */
  folded: number;
  /** The number of these events that were invalid. Absent if there are none, and from servers of version 0.1. */
  invalid?: number;
  /** The run's `rewrites` when it was folded. Absent from servers of version 0.1. */
  rewrites?: number;
}

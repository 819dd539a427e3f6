/** What the events of a run make of it: its snapshot (document 002). */
import type { RunArtifact } from './run-events.ts';

/** Statuses of runs that have ended. */
export const ENDED_RUN_STATUSES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

/** Every status of a run. */
export const RUN_STATUSES = ['PENDING', 'RUNNING', 'PAUSED', ...ENDED_RUN_STATUSES] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];

/** Returns whether a run of this status has ended. */
export function hasRunEnded(status: RunStatus): boolean {
  return (ENDED_RUN_STATUSES as readonly RunStatus[]).includes(status);
}

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

/** An event that the transition table does not allow (RUN-11). */
export interface TransitionViolation {
  runSeq: number;
  eventId: string;
  eventType: string;
  stepId?: string;
  reason: string;
}

/** The state of a run, folded from its events (RUN-10). */
export interface RunSnapshot {
  runId: string;
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  /** The last event that was folded in. */
  lastEventSeq: number;
  /** In order of first appearance. */
  steps: StepSnapshot[];
  artifacts: RunArtifact[];
  error?: RunFailure;
  /** True once a `RunQueued` was seen: tells a queued run from one whose events set no status yet. */
  queued?: boolean;
  startedAt?: string;
  completedAt?: string;
  totalDurationMs?: number;
  consistency: 'CONSISTENT' | 'INCONSISTENT';
  /** The first hundred invalid transitions. */
  violations: TransitionViolation[];
  /** How many events were invalid, also beyond those that `violations` lists; absent for none. */
  invalidEvents?: number;
  freshness: 'FRESH' | 'STALE';
  projectedAt: string;
  /** How many of the events were redacted when they were folded; absent for none. */
  redactions?: number;
  /** Counts the stored projections of this run. */
  version: number;
}

/** What `refreshSnapshot` gives. */
export interface RefreshedSnapshot {
  snapshot: RunSnapshot;
  /** How many events were folded in since the snapshot that was stored before. */
  folded: number;
  /** How many of them were invalid; absent for none, and from servers of version 0.1. */
  invalid?: number;
  /** The run's `rewrites` when it was folded; absent from servers of version 0.1. */
  rewrites?: number;
}

/**
 * Retention policies: what may go, and when. Of each kind the first policy that matches a thing decides on it, so that
 * exceptions come first and the rule for the rest comes last; what no policy matches stays.
 */
import type { ArtifactScope, Duration, JobState, RunStatus } from '@tidemark/core';

interface Policy {
  /** What reports call it; one of its own for each policy. */
  name: string;
  /** Only of this tenant. Default: of every tenant of the store. */
  tenantId?: string;
}

/** How things of a kind without an archive end: they go, or an exception keeps them. */
interface DeletingPolicy extends Policy {
  /** Default `delete`; `keep` is an exception from the policies after it. */
  action?: 'delete' | 'keep';
  /** How long they are kept. Needed unless the action is `keep`. */
  olderThan?: Duration;
}

/**
 * Runs. A run is never taken while it lives, unless the policy itself names `PENDING`, `RUNNING` or `PAUSED` for those
 * that were abandoned; nor when it got an event since it was looked at.
 *
 * @example
 * const runs: RunPolicy[] = [
 *   { name: 'on hold', labels: { hold: 'legal' }, action: 'keep' },
 *   { name: 'failed', status: 'FAILED', olderThan: '365d', action: 'archive' },
 *   { name: 'others', olderThan: '90d', action: 'delete' },
 * ];
 */
export interface RunPolicy extends Policy {
  projectId?: string;
  environmentId?: string;
  planId?: string;
  /** All of these. */
  labels?: Record<string, string>;
  /** Default: those that have ended, `COMPLETED`, `FAILED` and `CANCELLED`. */
  status?: RunStatus | readonly RunStatus[];
  action: 'delete' | 'archive' | 'keep';
  /** How long they are kept. With `keepNewest` a run goes only when both say so. */
  olderThan?: Duration;
  /** What the age is counted from: the last event, which is the default, or the first. */
  ageOf?: 'last event' | 'first event';
  /** So many of those it matches are kept, counted from the newest, whatever their age. */
  keepNewest?: number;
}

/** Sessions by their last activity, with all that belongs to them. */
export type SessionPolicy = DeletingPolicy;

/** Memory states by their last save. */
export interface MemoryPolicy extends DeletingPolicy {
  /** Only keys that start with this. */
  prefix?: string;
}

/** Artifacts by their creation. */
export interface ArtifactPolicy extends DeletingPolicy {
  /** Only those that agree in every given part. */
  scope?: Omit<ArtifactScope, 'tenantId'>;
}

/** Jobs that have ended, by their last change. */
export interface JobPolicy extends DeletingPolicy {
  taskType?: string;
  /** Default: all three. */
  state?: EndedJobState | readonly EndedJobState[];
}

export type EndedJobState = Extract<JobState, 'completed' | 'failed' | 'cancelled'>;

/** KV records by a time in one of their fields. */
export interface KvPolicy extends DeletingPolicy {
  /** Only keys that start with this. */
  prefix: string;
  /** The field that holds the time, in milliseconds; records without it stay. */
  field: string;
}

/** Policies of every kind, each list in order of precedence. */
export interface RetentionPolicies {
  runs?: readonly RunPolicy[];
  sessions?: readonly SessionPolicy[];
  memory?: readonly MemoryPolicy[];
  artifacts?: readonly ArtifactPolicy[];
  jobs?: readonly JobPolicy[];
  kv?: readonly KvPolicy[];
}

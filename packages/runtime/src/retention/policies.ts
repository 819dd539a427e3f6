/**
 * Retention policies: which data is removed, and when. Within each kind, the first matching policy applies, so
 * exceptions come first and the general rule last. Data that matches no policy stays.
 */
import type { ArtifactScope, Duration, JobState, RunStatus } from '@tidemark/core';

interface Policy {
  /** Name in reports; unique. */
  name: string;
  /** Applies to one tenant only. Default: every tenant of the store. */
  tenantId?: string;
}

/** A policy for data that cannot be archived. */
interface DeletingPolicy extends Policy {
  /** Default `delete`. `keep` exempts matching data from later policies. */
  action?: 'delete' | 'keep';
  /** How long the data is kept. Required unless the action is `keep`. */
  olderThan?: Duration;
}

/**
 * Removes runs. Runs in progress are removed only if the policy names `PENDING`, `RUNNING` or `PAUSED`, which is meant
 * for abandoned runs. A run that receives an event after it was found stays.
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
  /** A run must have all of these labels. */
  labels?: Record<string, string>;
  /** Default: ended runs, `COMPLETED`, `FAILED` and `CANCELLED`. */
  status?: RunStatus | readonly RunStatus[];
  action: 'delete' | 'archive' | 'keep';
  /** How long runs are kept. With `keepNewest` a run is removed only if both limits allow it. */
  olderThan?: Duration;
  /** The start of the age: the last event (default) or the first event. */
  ageOf?: 'last event' | 'first event';
  /** Keeps this many of the newest matching runs, even if they are old. */
  keepNewest?: number;
}

/** Removes sessions that have had no activity for a given time, with everything that belongs to them. */
export type SessionPolicy = DeletingPolicy;

/** Removes memory states that were last saved before a given time. */
export interface MemoryPolicy extends DeletingPolicy {
  /** Applies to keys with this prefix. */
  prefix?: string;
}

/** Removes artifacts that were created before a given time. */
export interface ArtifactPolicy extends DeletingPolicy {
  /** Applies to artifacts that match every given part. */
  scope?: Omit<ArtifactScope, 'tenantId'>;
}

/** Removes ended jobs that last changed before a given time. */
export interface JobPolicy extends DeletingPolicy {
  taskType?: string;
  /** Default: all three. */
  state?: EndedJobState | readonly EndedJobState[];
}

/** The states of jobs that a retention policy may remove. */
export type EndedJobState = Extract<JobState, 'completed' | 'failed' | 'cancelled'>;

/** Removes KV records by a time in one of their fields. */
export interface KvPolicy extends DeletingPolicy {
  /** Applies to keys with this prefix. */
  prefix: string;
  /** The field with the time in epoch milliseconds. Records without it stay. */
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

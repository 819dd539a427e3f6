/** Options and results of appends. */
import type { CallOptions } from './common.ts';

/** The result of an append. */
export interface AppendResult {
  /** The id of the stored event. For a duplicate, the id of the existing event. */
  eventId: string;
  /** The position of the stored event in its run. */
  runSeq: number;
  /** When the store stored the event: RFC 3339. */
  persistedAt: string;
  /** True if the idempotency key was already stored. */
  idempotent: boolean;
  /** True if a new event was written. */
  persisted: boolean;
  /**
   * For a duplicate: whether type, step and payload equal those of the stored event. Absent if a redaction makes that
   * unknown.
   */
  payloadMatches?: boolean;
  /** The life of the run. Absent in its first life. */
  life?: number;
}

/** The name and version of a projection. `defineProjection` returns the full `Projection`. */
export interface NamedProjection {
  readonly name: string;
  readonly version: number;
}

/** Options of an append. */
export interface AppendOptions extends CallOptions {
  /**
   * Writes only if the run's last sequence has this value, 0 for a new run. Otherwise the append fails with
   * `SEQ_CONFLICT`. Duplicates succeed regardless.
   */
  expectedSeq?: number;
  /**
   * The life of the run that the events belong to. Default 1. After a run was deleted, `new` begins its next life, and
   * every later append to that life must pass its number, which the result contains as `life`, as this option or
   * through `handle(runId, { life })`.
   *
   * An append that names an earlier life fails with `RUN_DELETED`, so that a late retry never reaches the new history.
   * On a live run, `new` returns the duplicate if the event is already stored, and fails with `CONFLICT` otherwise. On
   * an unknown run it begins life 1.
   */
  life?: number | 'new';
  /**
   * Refuses events that the state of the run does not allow, with `INVALID_TRANSITION`. By default they are stored, and
   * the snapshot lists them as `violations`.
   */
  rejectInvalidTransitions?: boolean;
  /**
   * An open transaction of the caller, in which the events are written. Fails with `UNSUPPORTED` unless the store has
   * the capability `runs.transactions`.
   */
  transaction?: unknown;
  /**
   * Projections whose states are written in the transaction of the events. When the append resolves, every reader gets
   * states that include its events. A handler that throws rolls back the append (`PROJECTION_FAILED`). Fails with
   * `UNSUPPORTED` unless the store has the capability `runs.inlineProjections`. Cannot be combined with `transaction`.
   */
  projections?: readonly NamedProjection[];
}

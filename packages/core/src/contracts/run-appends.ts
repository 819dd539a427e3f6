/** Options and results of appends. */
import type { CallOptions } from './common.ts';

/** The result of an append. */
export interface AppendResult {
  /** The id of the stored event: of the existing one if this is a duplicate. */
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
}

/** The name and version of a projection. `defineProjection` returns the full `Projection`. */
export interface NamedProjection {
  readonly name: string;
  readonly version: number;
}

/** Options of an append. */
export interface AppendOptions extends CallOptions {
  /**
   * Writes only if this is the run's last sequence, 0 for a new run. Otherwise the append fails with `SEQ_CONFLICT`.
   * Duplicates succeed regardless.
   */
  expectedSeq?: number;
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
   * states that include its events. A handler that throws undoes the append (`PROJECTION_FAILED`). Fails with
   * `UNSUPPORTED` unless the store has the capability `runs.inlineProjections`. Cannot be combined with `transaction`.
   */
  projections?: readonly NamedProjection[];
}

/** What an append is told, and what it tells. */
import type { CallOptions } from './common.ts';

/** What an append tells. */
export interface AppendResult {
  /** Of the stored event: the existing one for a duplicate. */
  eventId: string;
  runSeq: number;
  persistedAt: string;
  /** True when the key was there already. */
  idempotent: boolean;
  /** True when a new event was written. */
  persisted: boolean;
  /** For a duplicate: whether the stored event says the same as the one sent (RUN-4); absent where a redaction left it unknown. */
  payloadMatches?: boolean;
}

/** A projection as `defineProjection` gives it; `Projection` has its calls. */
export interface NamedProjection {
  readonly name: string;
  readonly version: number;
}

/** Options of an append. */
export interface AppendOptions extends CallOptions {
  /** Write only if this is the run's last sequence (0: the run is new), else `SEQ_CONFLICT` (RUN-7). */
  expectedSeq?: number;
  /** Refuse events whose transition is invalid with `INVALID_TRANSITION` instead of marking the snapshot (RUN-11). */
  rejectInvalidTransitions?: boolean;
  /** The caller's own transaction to join, on engines with the capability `runs.transactions`. */
  transaction?: unknown;
  /**
   * Projections whose states are written in the transaction of the events, on engines with the capability
   * `runs.inlineProjections`: once the append is answered, every reader gets a state that has taken its events in. A
   * handler that throws undoes the append (`PROJECTION_FAILED`). Not together with `transaction`.
   */
  projections?: readonly NamedProjection[];
}

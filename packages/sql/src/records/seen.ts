/** Records in the state that a transaction has read before changing them. */
import type { RecordState } from '@tidemark/core/engine';

/** A record as read in a transaction. */
export interface Seen {
  /** The record; `undefined` when it is absent or has expired. */
  state: RecordState | undefined;
  /** Whether the fields of `state` were read. */
  hasFields: boolean;
  /**
   * The stored record does not match its checksum. `state` has no fields, and only a step that replaces all fields is
   * allowed.
   */
  damaged?: true;
  /** Revision of the stored row, expired or not; 0 when it is absent. */
  storedRevision: number;
  /** The request ids of the stored row, expired or not, oldest first. */
  requests: readonly string[];
  now: number;
}

/** Records read in a transaction, by id. */
export type Looked = Map<string, Seen>;

/** What a transaction has seen of records before it changes them. */
import type { RecordState } from '@tidemark/core/engine';

/** A record under the eyes of a transaction. */
export interface Seen {
  /** The record; absent when there is none or it has expired. */
  state: RecordState | undefined;
  /** Whether the fields of `state` were read. */
  hasFields: boolean;
  /** The stored record does not match its checksum: `state` has no fields, and only a step that replaces them all may follow. */
  damaged?: true;
  /** Of the stored row, expired or not; 0 when there is none. */
  storedRevision: number;
  /** The request ids of the stored row, expired or not, oldest first. */
  requests: readonly string[];
  now: number;
}

/** What a transaction has seen of some records. */
export type Looked = Map<string, Seen>;

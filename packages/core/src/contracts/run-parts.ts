/** Exported runs: everything that is needed to restore a run with the same sequences, times and links. */
import type { EventFieldsAs, StoredField } from './event-fields.ts';
import type { Redaction } from './run-events.ts';
import type { RunStatus } from './run-state.ts';

/** The values of an exported event: objects as JSON text, digests in hex, times as text. */
interface ExportedValues {
  uuid: string;
  id: string;
  time: string;
  integer: number;
  object: string;
  instant: string;
  digest: string;
}

/**
 * A stored event to archive or copy. It contains the exact texts that were hashed, so that the chain can be verified
 * anywhere. Payloads stay encoded by the codec.
 */
export interface ExportedEvent
  extends EventFieldsAs<Exclude<StoredField, 'redaction' | 'chainFormat' | 'life'>, ExportedValues> {
  /** Set if the payload was removed. `payloadHash` is the SHA-256 of its text, in hex. */
  redaction?: Redaction & { payloadHash: string };
  /** The format of the chain in the event's commit. Absent for format 1. */
  chainFormat?: number;
  /** The life of the run. Absent for life 1. */
  life?: number;
}

/** The data of a run besides its events, as of its last event. */
export interface ExportedRun {
  tenantId: string;
  runId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus | null;
  lastEventSeq: number;
  /** The last link, in hex. */
  head: string;
  createdAt: string;
  updatedAt: string;
  labels: Record<string, string>;
  parentRunId: string | null;
  /** The life of the run. Absent for life 1. */
  life?: number;
  /** The run's `rewrites` when the export began. Absent in exports of older versions. */
  rewrites?: number;
}

/** A part of an exported run. It is plain JSON. */
export interface RunPart {
  /** The same in every part of an export. */
  run: ExportedRun;
  events: ExportedEvent[];
  isLast: boolean;
}

/** The result of `restoreRun`. */
export interface RestoreResult {
  tenantId: string;
  runId: string;
  lastEventSeq: number;
  /** False if the same run already existed. */
  restored: boolean;
}

/** A run on its way out of a store and back, the same to the last link. */
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
 * An event as it is stored, to be archived or copied: the texts that were hashed, so that the chain can be checked
 * wherever it lies. Payloads are as the codec left them.
 */
export interface ExportedEvent extends EventFieldsAs<Exclude<StoredField, 'redaction'>, ExportedValues> {
  /** Of an event whose payload was taken out; `payloadHash` is the hex SHA-256 of its text. */
  redaction?: Redaction & { payloadHash: string };
}

/** What is kept of a run besides its events, as of its last one. */
export interface ExportedRun {
  tenantId: string;
  runId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus | null;
  lastEventSeq: number;
  /** Hex of the last link. */
  head: string;
  createdAt: string;
  updatedAt: string;
  labels: Record<string, string>;
  parentRunId: string | null;
  /** The run's `rewrites` when the export began; absent in exports of older versions. */
  rewrites?: number;
}

/** A part of an exported run; plain JSON. */
export interface RunPart {
  /** The same in every part of one export. */
  run: ExportedRun;
  events: ExportedEvent[];
  isLast: boolean;
}

/** What `restoreRun` gives. */
export interface RestoreResult {
  tenantId: string;
  runId: string;
  lastEventSeq: number;
  /** False when the very same run was there already. */
  restored: boolean;
}

/** Events of runs: as they are sent, as they are stored, and as a reader with definitions gets them (documents 004, 001). */
import type { JsonObject } from './common.ts';
import type { EventSchemas, OutputOf } from './schemas.ts';

/** A reference to a file an event speaks of. */
export interface RunArtifact {
  uri: string;
  kind: string;
  sha256?: string;
  sizeBytes?: number;
  expiresAt?: string;
}

/** Fields of ours that an event may carry besides the specification's (RUN-1, RUN-9). */
export interface RunEventExtensions {
  /** Small map of text to text; `listRuns` filters by the labels of a run's first event. */
  labels?: Record<string, string>;
  /** The run that started this one, or that it was forked from. */
  parentRunId?: string;
  /** Of an event that `forkRun` copied: where it came from. */
  forkedFrom?: ForkOrigin;
  /** W3C trace context of the producer. */
  traceparent?: string;
  adapterVersion?: string;
  engineRunRef?: unknown;
  causedBySignalId?: string;
  parentEventId?: string;
  /** The id a v1 event had, when it was not a version 4 UUID. */
  sourceEventId?: string;
  /** The sequence a v1 event had in the store it came from. */
  sourceRunSeq?: number;
}

/** What an event says besides its key. */
export interface RunEventEnvelope extends RunEventExtensions {
  /** UUID version 4. */
  eventId: string;
  /** An open set; the eleven known types drive the snapshot. */
  eventType: string;
  /** Producer's clock, RFC 3339 UTC; returned as the exact text that was sent. */
  emittedAt: string;
  runId: string;
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  /** Integer ≥ 1; 1 where the runtime has no such notion. */
  engineAttemptId: number;
  /** Integer ≥ 1. */
  logicalAttemptId: number;
  /** Required for step types, forbidden for known run types. */
  stepId?: string;
  payload?: JsonObject;
}

/**
 * An event as a producer sends it. Fields the contract does not know are kept and returned.
 * The store adds `runSeq` and `persistedAt`.
 */
export interface RunEventWrite extends RunEventEnvelope {
  /** Opaque; the second event of a run with the same key is a duplicate of the first. */
  idempotencyKey: string;
  [extra: string]: unknown;
}

/** An event whose key may be left out: the store derives it (RUN-5). */
export interface RunEventInput extends RunEventEnvelope {
  idempotencyKey?: string;
  [extra: string]: unknown;
}

/** An event as it is stored. */
export interface RunEventRecord extends RunEventWrite {
  /** Position in the run: 1, 2, 3 … in the order of commits. */
  runSeq: number;
  /** Append authority's clock, RFC 3339 UTC with milliseconds; never decreases along `runSeq`. */
  persistedAt: string;
  /** Set when the payload was taken out by `redactEvent`. */
  redacted?: Redaction;
}

/** Who took the payload out of an event, when and why. */
export interface Redaction {
  at: string;
  by: string;
  reason: string;
}

/** Where a copied event came from. */
export interface ForkOrigin {
  runId: string;
  /** Its place in that run, which is also its place in the fork. */
  runSeq: number;
  /** The last sequence the fork has in common with its origin. */
  atSeq: number;
}

/** The types that drive the snapshot of a run; they need no schema. */
export type LifecycleEventType =
  | 'RunQueued'
  | 'RunStarted'
  | 'RunPaused'
  | 'RunResumed'
  | 'RunCompleted'
  | 'RunFailed'
  | 'RunCancelled'
  | 'StepStarted'
  | 'StepCompleted'
  | 'StepFailed'
  | 'StepSkipped';

/** The fields of a stored event without its index signature, so that they can be typed anew. */
type KnownFields = {
  [K in keyof RunEventRecord as string extends K ? never : number extends K ? never : K]: RunEventRecord[K];
};

/** A stored event of a defined type, with its payload as the schema gives it. */
export type DefinedEvent<S extends EventSchemas, T extends keyof S & string = keyof S & string> = {
  [K in T]: Omit<KnownFields, 'eventType' | 'payload'> & { eventType: K; payload: OutputOf<S[K]> };
}[T];

/** A stored event of a type that drives the snapshot and has no schema. */
export type LifecycleEvent<S extends EventSchemas> = Omit<KnownFields, 'eventType'> & {
  eventType: Exclude<LifecycleEventType, keyof S>;
};

/**
 * An event as readers with definitions get it: a union that `eventType` tells apart. Events of types it does not name
 * are given as they are stored, so a `switch` over them needs a `default`.
 */
export type TypedEvent<S extends EventSchemas> = DefinedEvent<S> | LifecycleEvent<S>;

/** What `defineEvents` gives. */
export interface EventDefinitions<S extends EventSchemas> {
  readonly schemas: S;
  /** The payload of a defined type as its schema gives it, or `INVALID_PAYLOAD` naming the path. Other types pass. */
  parsePayload(eventType: string, payload: unknown): unknown;
  /** A stored event with its payload parsed; one of another type is given back as it is. */
  parseEvent(event: RunEventRecord): TypedEvent<S> | Promise<TypedEvent<S>>;
}

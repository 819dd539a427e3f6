/** Events of runs: as they are sent, as they are stored, and as a reader with definitions gets them (documents 004, 001). */
import type { CallerFields, ReadField, SentField } from './event-fields.ts';
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
export interface RunEventEnvelope extends RunEventExtensions, CallerFields<Exclude<SentField, 'idempotencyKey'>> {}

/**
 * An event as a producer sends it. Fields the contract does not know are kept and returned.
 * The store adds `runSeq` and `persistedAt`.
 */
export interface RunEventWrite extends RunEventEnvelope, CallerFields<'idempotencyKey'> {
  [extra: string]: unknown;
}

/** An event whose key may be left out: the store derives it (RUN-5). */
export interface RunEventInput extends RunEventEnvelope, Partial<CallerFields<'idempotencyKey'>> {
  [extra: string]: unknown;
}

/** An event as it is stored. */
export interface RunEventRecord extends RunEventWrite, CallerFields<Exclude<ReadField, SentField>> {
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

/** Events of runs: as producers send them, as they are stored, and as readers with event definitions get them. */
import type { CallerFields, ReadField, SentField } from './event-fields.ts';
import type { EventSchemas, OutputOf } from './schemas.ts';

/** A reference to a file in the payload of an event. */
export interface RunArtifact {
  uri: string;
  kind: string;
  sha256?: string;
  sizeBytes?: number;
  expiresAt?: string;
}

/** Optional fields that Tidemark defines in addition to the fields of the specification. */
export interface RunEventExtensions {
  /** A small map of text to text. `listRuns` filters by the labels of a run's first event. */
  labels?: Record<string, string>;
  /** The run that started this one, or from which it was forked. */
  parentRunId?: string;
  /** The origin of an event that `forkRun` copied. */
  forkedFrom?: ForkOrigin;
  /** W3C trace context of the producer. */
  traceparent?: string;
  adapterVersion?: string;
  engineRunRef?: unknown;
  causedBySignalId?: string;
  parentEventId?: string;
  /** The id of a v1 event, if it was not a version 4 UUID. */
  sourceEventId?: string;
  /** The sequence of a v1 event in the store it was copied from. */
  sourceRunSeq?: number;
}

/** The fields of an event without its idempotency key. */
export interface RunEventEnvelope extends RunEventExtensions, CallerFields<Exclude<SentField, 'idempotencyKey'>> {}

/**
 * An event as a producer sends it. Unknown fields are stored and returned. The store adds `runSeq` and `persistedAt`.
 */
export interface RunEventWrite extends RunEventEnvelope, CallerFields<'idempotencyKey'> {
  [extra: string]: unknown;
}

/** Fields that an event to append must have. All others are optional or filled in. */
type GivenField = 'runId' | 'eventType';

/**
 * An event to append. Only `runId` and `eventType` are required. Missing fields are filled in once per call, before the
 * first attempt, so that every retry sends the same event:
 *
 * - `eventId`: a new version 4 UUID; `emittedAt`: the time of the call
 * - `engineAttemptId` and `logicalAttemptId`: 1
 * - `tenantId`: the tenant of the view, or `default`
 * - `projectId`, `environmentId` and `planId`: `default`; `planVersion`: `1`
 *
 * Without an `idempotencyKey` the store derives one; see `RunStore.appendEvent`.
 */
export interface RunEventInput
  extends RunEventExtensions,
    CallerFields<GivenField>,
    Partial<CallerFields<Exclude<SentField, GivenField>>> {
  [extra: string]: unknown;
}

/** A stored event. */
export interface RunEventRecord extends RunEventWrite, CallerFields<Exclude<ReadField, SentField>> {
  /** Set if `redactEvent` removed the payload. */
  redacted?: Redaction;
}

/** Who removed the payload of an event, when and why. */
export interface Redaction {
  at: string;
  by: string;
  reason: string;
}

/** The origin of a copied event. */
export interface ForkOrigin {
  runId: string;
  /** The position of the event in that run, which is also its position in the fork. */
  runSeq: number;
  /** The last sequence that the fork shares with its origin. */
  atSeq: number;
}

/** The event types that change the snapshot of a run. They need no schema. */
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

/** The fields of a stored event without its index signature, so that they can be typed again. */
type KnownFields = {
  [K in keyof RunEventRecord as string extends K ? never : number extends K ? never : K]: RunEventRecord[K];
};

/** A stored event of a defined type, with its payload as the schema returns it. */
export type DefinedEvent<S extends EventSchemas, T extends keyof S & string = keyof S & string> = {
  [K in T]: Omit<KnownFields, 'eventType' | 'payload'> & { eventType: K; payload: OutputOf<S[K]> };
}[T];

/** A stored event of a lifecycle type that has no schema. */
export type LifecycleEvent<S extends EventSchemas> = Omit<KnownFields, 'eventType'> & {
  eventType: Exclude<LifecycleEventType, keyof S>;
};

/**
 * An event as readers with definitions get it: a union discriminated by `eventType`. Events of other types are returned
 * as they are stored, so a `switch` needs a `default`.
 */
export type TypedEvent<S extends EventSchemas> = DefinedEvent<S> | LifecycleEvent<S>;

/** Event types and their schemas, as `defineEvents` returns them. */
export interface EventDefinitions<S extends EventSchemas> {
  readonly schemas: S;
  /**
   * Returns the payload as its schema returns it, or a promise if the schema is asynchronous. Returns payloads of other
   * types unchanged.
   *
   * @throws `INVALID_PAYLOAD` if the payload does not fit; `field` is the path.
   */
  parsePayload(eventType: string, payload: unknown): unknown;
  /**
   * Returns a stored event with its payload parsed. Returns redacted events and events of other types unchanged.
   *
   * @throws `INVALID_PAYLOAD` if the stored payload does not fit; `field` is the path.
   */
  parseEvent(event: RunEventRecord): TypedEvent<S> | Promise<TypedEvent<S>>;
}

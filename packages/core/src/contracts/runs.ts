/** Runs: an append-only event log per run, with the store as its append authority (documents 004, 001). */
import type { CallOptions, Duration, JsonObject, Page, PageOptions } from './common.ts';
import type { EventSchemas, InputOf, OutputOf } from './schemas.ts';

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

/** Options of reads that name a run. */
export interface RunReadOptions extends CallOptions {
  /** Whose run it is; needed only where several tenants use the same run id (GEN-10). */
  tenantId?: string;
}

/** Options of `fetchEvents`. */
export interface FetchOptions extends RunReadOptions {
  /** Only events after this sequence. Default 0. */
  afterSeq?: number;
  /** 1 to 10 000, default 1 000. */
  limit?: number;
}

export type RunStatus = 'PENDING' | 'RUNNING' | 'PAUSED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
export type StepStatus = 'PENDING' | 'RUNNING' | 'SUCCESS' | 'FAILED' | 'SKIPPED';

/** Why a step or run failed. */
export interface RunFailure {
  code?: string;
  message?: string;
  retryable?: boolean;
}

/** The state of one step. */
export interface StepSnapshot {
  stepId: string;
  status: StepStatus;
  logicalAttemptId: number;
  engineAttemptId: number;
  startedAt?: string;
  completedAt?: string;
  durationMs?: number;
  artifacts: RunArtifact[];
  error?: RunFailure;
}

/** An event that the transition table does not allow (RUN-11). */
export interface TransitionViolation {
  runSeq: number;
  eventId: string;
  eventType: string;
  stepId?: string;
  reason: string;
}

/** The state of a run, folded from its events (RUN-10). */
export interface RunSnapshot {
  runId: string;
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  /** The last event that was folded in. */
  lastEventSeq: number;
  /** In order of first appearance. */
  steps: StepSnapshot[];
  artifacts: RunArtifact[];
  error?: RunFailure;
  /** True once a `RunQueued` was seen: tells a queued run from one whose events set no status yet. */
  queued?: boolean;
  startedAt?: string;
  completedAt?: string;
  totalDurationMs?: number;
  consistency: 'CONSISTENT' | 'INCONSISTENT';
  /** The first hundred invalid transitions. */
  violations: TransitionViolation[];
  freshness: 'FRESH' | 'STALE';
  projectedAt: string;
  /** How many of the events were redacted when they were folded; absent for none. */
  redactions?: number;
  /** Counts the stored projections of this run. */
  version: number;
}

/** What `refreshSnapshot` gives. */
export interface RefreshedSnapshot {
  snapshot: RunSnapshot;
  /** How many events were folded in since the snapshot that was stored before. */
  folded: number;
}

/** Where a copied event came from. */
export interface ForkOrigin {
  runId: string;
  /** Its place in that run, which is also its place in the fork. */
  runSeq: number;
  /** The last sequence the fork has in common with its origin. */
  atSeq: number;
}

/** Options of `forkRun`. */
export interface ForkOptions extends RunReadOptions {
  /** The id of the new run, in the same tenant. */
  toRunId: string;
  /** The last event to copy. Default: all there are. */
  atSeq?: number;
}

/** What `forkRun` gives. */
export interface ForkResult {
  tenantId: string;
  runId: string;
  forkedFrom: { runId: string; atSeq: number };
  /** How many events this call wrote; fewer than `atSeq` when an earlier call had written some. */
  copied: number;
}

/** A run in a list, known without folding its events. */
export interface RunSummary {
  tenantId: string;
  runId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  lastEventSeq: number;
  /** When the first and the last event were stored. */
  createdAt: string;
  updatedAt: string;
  labels: Record<string, string>;
  parentRunId?: string;
}

/**
 * An event as it is stored, to be archived or copied: the texts that were hashed, so that the chain can be checked
 * wherever it lies. Payloads are as the codec left them.
 */
export interface ExportedEvent {
  runSeq: number;
  eventId: string;
  eventType: string;
  emittedAt: string;
  persistedAt: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  engineAttemptId: number;
  logicalAttemptId: number;
  idempotencyKey: string;
  stepId: string | null;
  /** JSON text of all other fields. */
  extra: string | null;
  /** JSON text of the payload. */
  payload: string | null;
  /** 1 for the first event of a commit, 2 for the second, … */
  commitIndex: number;
  /** Hex. */
  link: string;
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

/** Which runs to list; all given conditions hold together. */
export interface RunFilter {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  status?: RunStatus | RunStatus[];
  planId?: string;
  parentRunId?: string;
  labels?: Record<string, string>;
  /** Created at or after, before: RFC 3339. */
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  updatedBefore?: string;
}

/** Options of `listRuns`: 1 to 1 000 runs a page, default 100, newest first. */
export interface ListRunsOptions extends RunFilter, PageOptions {
  order?: 'newest' | 'oldest';
}

/** What `verify` found (RUN-17). */
export interface VerifyReport {
  runId: string;
  tenantId: string;
  ok: boolean;
  /** How many events were checked. */
  events: number;
  /** Hex of the last link; equal heads mean equal histories. */
  head: string;
  /** The first thing that is wrong. */
  problem?: { runSeq: number; reason: string };
}

/** An event of the feed over all runs, with the cursor that continues after it. */
export interface FeedItem {
  cursor: string;
  event: RunEventRecord;
}

/** A page of the feed. It has no end: `next` continues after it at any later time. */
export interface FeedPage {
  /** May be empty although more follows, where a filter or a view left nothing of the events looked at. */
  items: FeedItem[];
  /** The `after` of the following page; absent only while the store has no events. The same as before: caught up. */
  next?: string;
}

/** Options of `feed`. */
export interface FeedOptions extends CallOptions {
  /** The cursor of the last event seen; absent: from the beginning. */
  after?: string;
  /** Only these. */
  filter?: { tenantId?: string; eventTypes?: string[] };
  /** `skip` passes over events that cannot be decoded, such as those of a key that was destroyed. Default: `CODEC_FAILED`. */
  unreadable?: 'skip';
}

/** What a handle fills in for each event. */
export interface RunDefaults {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  planId?: string;
  planVersion?: string;
  labels?: Record<string, string>;
  /** Projections whose states every append of the handle writes in its own transaction; see `AppendOptions`. */
  projections?: readonly NamedProjection[];
}

/** Envelope fields of one append through a handle. */
export type HandleEventFields = Partial<Omit<RunEventEnvelope, 'runId' | 'eventType' | 'payload'>> & {
  idempotencyKey?: string;
} & CallOptions;

/** One run, with the envelope filled in: sugar over `RunStore`, nothing more. */
export interface RunHandle {
  readonly runId: string;
  append(eventType: string, payload?: JsonObject, fields?: HandleEventFields): Promise<AppendResult>;
  events(options?: { afterSeq?: number } & CallOptions): AsyncIterable<RunEventRecord>;
  tail(options?: { afterSeq?: number } & CallOptions): AsyncIterable<RunEventRecord>;
  snapshot(options?: { atSeq?: number } & CallOptions): Promise<RunSnapshot>;
  headSeq(options?: CallOptions): Promise<number>;
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

/** A handle that knows the events of its run. */
export interface TypedRunHandle<S extends EventSchemas> extends Omit<RunHandle, 'append' | 'events' | 'tail'> {
  /** Checks the payload against its schema before anything is written; what is stored is the payload as it was passed. */
  append<T extends keyof S & string>(
    eventType: T,
    payload: InputOf<S[T]>,
    fields?: HandleEventFields,
  ): Promise<AppendResult>;
  append(
    eventType: Exclude<LifecycleEventType, keyof S>,
    payload?: JsonObject,
    fields?: HandleEventFields,
  ): Promise<AppendResult>;
  events(options?: { afterSeq?: number } & CallOptions): AsyncIterable<TypedEvent<S>>;
  tail(options?: { afterSeq?: number } & CallOptions): AsyncIterable<TypedEvent<S>>;
}

/** The append authority and the reads around it. */
export interface RunStore {
  /** Stores an event and tells its place. A key that is there already gives the stored event's place (RUN-4). */
  appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult>;
  /** Up to 1 000 events; those of one run are stored together and in order. One result per input (RUN-7). */
  appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]>;
  /** A page of a run's events in `runSeq` order; `[]` for an unknown run (RUN-12). */
  fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]>;
  /** All events of a run up to now, page by page. */
  readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord>;
  /** All events of a run, then each new one as it is stored, until aborted. Never skips, never repeats. */
  tail(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord>;
  /** The stored snapshot, which may lag; `null` for an unknown run (RUN-13). */
  getSnapshot(runId: string, options?: RunReadOptions): Promise<RunSnapshot | null>;
  /** The current snapshot, or the one at `atSeq`. An unknown run is `RUN_NOT_FOUND`. */
  projectSnapshot(runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<RunSnapshot>;
  /** Folds what is new into the stored snapshot and stores it, fresh. An unknown run is `RUN_NOT_FOUND`. */
  refreshSnapshot(runId: string, options?: RunReadOptions): Promise<RefreshedSnapshot>;
  /** Makes the stored snapshot `STALE` until it is refreshed (RUN-14). Tells whether there is one. */
  markStale(runId: string, options?: RunReadOptions): Promise<boolean>;
  /**
   * Makes a new run of another's events up to a sequence: same types, payloads and times, ids and keys of its own.
   * The same fork again changes nothing, and continues one that was interrupted; a run of that id that is anything
   * else is `CONFLICT`.
   */
  forkRun(runId: string, options: ForkOptions): Promise<ForkResult>;
  listRuns(options?: ListRunsOptions): Promise<Page<RunSummary>>;
  /** The last sequence of a run, 0 if unknown. */
  headSeq(runId: string, options?: RunReadOptions): Promise<number>;
  /** Recomputes the hash chain of a run and tells the first thing that is wrong. */
  verify(runId: string, options?: RunReadOptions): Promise<VerifyReport>;
  /**
   * Removes a whole run; a tombstone refuses late retries with `RUN_DELETED`. With `atSeq` only while that is its last
   * sequence, else `SEQ_CONFLICT`. Tells whether there was one.
   */
  deleteRun(runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<boolean>;
  /** A run with all it has now, in parts of up to 1 000 events, verified as they are read. `RUN_NOT_FOUND` if unknown. */
  exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart>;
  /**
   * Puts an exported run back under its own tenant and id: same sequences, times and links, checked before anything is
   * written. Sent again, or after a crash, it goes on where it was; until the last part the run is not readable. Over
   * a run that is there and is another, or has grown, it is `CONFLICT`; over a deleted one `RUN_DELETED` unless
   * `overDeleted`.
   */
  restoreRun(
    parts: AsyncIterable<RunPart> | Iterable<RunPart>,
    options?: CallOptions & { overDeleted?: boolean },
  ): Promise<RestoreResult>;
  /**
   * Removes a whole run that lies safe elsewhere, if `atSeq` is still its last sequence, else `SEQ_CONFLICT`. Later
   * calls hear `RUN_ARCHIVED` with the location. Tells whether there was one.
   */
  archiveRun(runId: string, options: RunReadOptions & { location: string; atSeq: number }): Promise<boolean>;
  /** Where an archived run lies; `null` for any other. */
  archivedAt(runId: string, options?: RunReadOptions): Promise<string | null>;
  /**
   * Takes the payload out of an event for good, and out of the stored snapshot; the chain stays valid and the event
   * tells who did it, when and why. The first redaction stays. Tells whether there is such an event.
   */
  redactEvent(
    runId: string,
    runSeq: number,
    options: RunReadOptions & { by: string; reason: string },
  ): Promise<boolean>;
  /** All events of all runs, per-run order kept, then each new one, until aborted. */
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;
  /**
   * A page of the feed: what is there now, looking at 1 to 10 000 events, default 1 000. With `wait`, up to 60 s, an
   * empty page is given only after nothing has come for so long; the call may then take that much longer.
   */
  feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage>;
  /** One run with the envelope filled in; with `events`, names and payloads are typed and checked. */
  handle<S extends EventSchemas>(
    runId: string,
    defaults: RunDefaults & { events: EventDefinitions<S> },
  ): TypedRunHandle<S>;
  handle(runId: string, defaults?: RunDefaults): RunHandle;
}

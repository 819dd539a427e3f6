/** A handle for one run, which fills in the fields that its events share. */
import type { CallOptions, Duration, JsonObject } from './common.ts';
import type { RunExpiry } from './expiry.ts';
import type { AppendOptions, AppendResult, NamedProjection } from './run-appends.ts';
import type { LifecycleEventType, RunEventEnvelope, RunEventRecord, TypedEvent } from './run-events.ts';
import type { RunSnapshot } from './run-state.ts';
import type { EventSchemas, InputOf } from './schemas.ts';

/** Fields that a handle fills in for each event. Ids default to `default`, `planVersion` to `1`. */
export interface RunDefaults {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  planId?: string;
  planVersion?: string;
  labels?: Record<string, string>;
  /**
   * When the run expires, counted from its last event; `'30d'` is short for `{ after: '30d' }`. Only ended runs expire
   * unless `status` is `any`. The first event decides: it stores the setting as the label `tidemark.expires`. From the
   * millisecond of its expiry on, the run is a deleted run to all readers and writers.
   */
  expires?: Duration | RunExpiry;
  /**
   * The life of the run that the handle is bound to. Appends pass this life, and reads treat a run in any other life as
   * unknown. Default: appends go to life 1, reads to the current life.
   */
  life?: number;
  /** Projections whose states every append of the handle writes in its transaction; see `AppendOptions`. */
  projections?: readonly NamedProjection[];
}

/** Fields of the event and options of one append through a handle. They replace the defaults of the handle. */
export type HandleEventFields = Partial<Omit<RunEventEnvelope, 'runId' | 'eventType' | 'payload'>> & {
  /** Identifies the event within its run: a second append with the same key stores nothing. */
  idempotencyKey?: string;
} & AppendOptions;

/** One run, with the envelope of its events filled in. Every call is a call of `RunStore`. */
export interface RunHandle {
  readonly runId: string;
  /**
   * Appends an event and returns its position. Creates a new `eventId` and sets `emittedAt` unless `fields` contains
   * them. `fields` also accepts the options of an append, such as `expectedSeq`.
   *
   * Lifecycle types of runs and steps, except `RunPaused` and `RunResumed`, are stored once per attempt: a second
   * `StepStarted` of the same step is a duplicate unless it has another `logicalAttemptId`. All other types are stored
   * with every call: two `append('UserSaid', …)` are two events unless both have the same `idempotencyKey`.
   *
   * @throws The codes of `RunStore.appendEvent`.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * await run.append('RunStarted', { by: 'ada' });
   * const again = await run.append('RunStarted', { by: 'ada' });
   * console.log(again.runSeq, again.idempotent); // 1 true
   * await run.append('NoteAdded', { text: 'call back' });
   * await run.append('NoteAdded', { text: 'call back' });
   * console.log(await run.headSeq()); // 3
   * await run.append('NoteAdded', { text: 'paid' }, { idempotencyKey: 'note-7' });
   * await run.append('NoteAdded', { text: 'paid' }, { idempotencyKey: 'note-7' });
   * console.log(await run.headSeq()); // 4
   * await run.append('NoteAdded', { text: 'sent' }, { expectedSeq: 4 });
   */
  append(eventType: string, payload?: JsonObject, fields?: HandleEventFields): Promise<AppendResult>;
  /** Yields all events that the run has now, as `RunStore.readEvents` does. */
  events(
    options?: { afterSeq?: number; beforeSeq?: number; order?: 'newest' | 'oldest' } & CallOptions,
  ): AsyncIterable<RunEventRecord>;
  /** Yields all events of the run, then each new one, as `RunStore.tail` does. */
  tail(options?: { afterSeq?: number } & CallOptions): AsyncIterable<RunEventRecord>;
  /** Returns the current snapshot, or the one at `atSeq`, as `RunStore.projectSnapshot` does. */
  snapshot(options?: { atSeq?: number } & CallOptions): Promise<RunSnapshot>;
  /** Returns the last sequence of the run, or 0 if it has no events. */
  headSeq(options?: CallOptions): Promise<number>;
}

/** A handle that knows the event types of its run and their payloads. */
export interface TypedRunHandle<S extends EventSchemas> extends Omit<RunHandle, 'append' | 'events' | 'tail'> {
  /**
   * Checks the payload against its schema, then appends the event as `RunHandle.append` does. Stores the payload as it
   * was passed, without conversions of the schema.
   *
   * @throws `INVALID_PAYLOAD` if the payload does not fit its schema; `field` is the path.
   */
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
  /**
   * Yields all events that the run has now, with payloads parsed by their schemas.
   *
   * @throws `INVALID_PAYLOAD` if a stored payload does not fit its schema.
   */
  events(
    options?: { afterSeq?: number; beforeSeq?: number; order?: 'newest' | 'oldest' } & CallOptions,
  ): AsyncIterable<TypedEvent<S>>;
  /**
   * Yields all events of the run, then each new one, with payloads parsed by their schemas.
   *
   * @throws `INVALID_PAYLOAD` if a stored payload does not fit its schema.
   */
  tail(options?: { afterSeq?: number } & CallOptions): AsyncIterable<TypedEvent<S>>;
}

/** One run, with the envelope filled in. */
import type { CallOptions, JsonObject } from './common.ts';
import type { AppendResult, NamedProjection } from './run-appends.ts';
import type { LifecycleEventType, RunEventEnvelope, RunEventRecord, TypedEvent } from './run-events.ts';
import type { RunSnapshot } from './run-state.ts';
import type { EventSchemas, InputOf } from './schemas.ts';

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

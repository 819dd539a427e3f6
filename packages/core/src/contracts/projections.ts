/** Projections: your own state per run, folded from its events and stored with them. */
import type { CallOptions } from './common.ts';
import type { NamedProjection } from './run-appends.ts';
import type { DefinedEvent, LifecycleEventType, RunEventRecord } from './run-events.ts';
import type { RunReadOptions } from './runs.ts';
import type { EventSchemas } from './schemas.ts';
import type { Store } from './store.ts';

/**
 * Handles an event: changes the draft of the state in place, or returns a new state. It must depend only on its
 * arguments, so that the same events always produce the same state, and it must not be asynchronous.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that changes the draft returns nothing.
export type ProjectionHandler<State, Event> = (state: State, event: Event) => State | void;

/** A handler for each relevant event type, typed by the event definitions. */
export type TypedHandlers<State, S extends EventSchemas> = {
  [T in keyof S & string]?: ProjectionHandler<State, DefinedEvent<S, T>>;
} & { [T in Exclude<LifecycleEventType, keyof S>]?: ProjectionHandler<State, RunEventRecord> };

/** The definition of a projection. */
export interface ProjectionDefinition<State> {
  /** 1 to 100 of `A–Z a–z 0–9 _ -`. Part of the KV keys of its states. */
  name: string;
  /** An integer of at least 1. Increase it when you change `initial` or a handler. */
  version: number;
  /** The state of a run before its first event. Must be plain JSON. */
  initial: State;
}

/** The state of one run. */
export interface ProjectedState<State> {
  tenantId: string;
  runId: string;
  state: State;
  /** The sequence of the last event that was folded in. */
  lastEventSeq: number;
}

/** The sequence of the event that last wrote each path. Paths are JSON Pointers. 0 for values that no event wrote. */
export type Blame = Record<string, number>;

/** The progress of a rebuild. */
export interface RebuildProgress {
  /** The number of runs checked. A run counts once in each pass. */
  runs: number;
  /** The number of runs whose state was out of date and was refreshed. */
  refreshed: number;
}

/** The result of a rebuild. */
export interface RebuildReport extends RebuildProgress {
  /** The active version now: this one, unless a higher one was already active. */
  activeVersion: number;
}

/**
 * A point in a rebuild: a page of runs was checked, a state was stored, all runs were checked, the version was
 * switched.
 */
export type RebuildPoint = 'looked' | 'refreshed' | 'passed' | 'switched';

/** Options of `rebuild`. */
export interface RebuildOptions extends CallOptions {
  /** Called after each page of runs. */
  onProgress?: (progress: RebuildProgress) => void;
  /** Called at each point. For tests that stop the process there. */
  probe?: (point: RebuildPoint) => void;
}

/** Reads and stores the state that handlers fold from the events of a run. `defineProjection` creates it. */
export interface Projection<State> extends NamedProjection {
  /**
   * Returns the current state, or the state at `atSeq`. Stores nothing.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`. `PROJECTION_FAILED` if a handler throws. `INVALID_ARGUMENT` if `atSeq` is
   * beyond the last event.
   */
  project(store: Store, runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<ProjectedState<State>>;
  /**
   * Returns the stored state, or `null` for an unknown run. The state may lag unless every append names the projection.
   * If none is stored, or the run was redacted or restored since, folds it from the first event and stores it.
   *
   * @throws `RUN_ARCHIVED`. `PROJECTION_FAILED` if a handler throws.
   */
  get(store: Store, runId: string, options?: RunReadOptions): Promise<ProjectedState<State> | null>;
  /**
   * Folds new events into the stored state, stores the result and returns it. Concurrent calls never store an older
   * state over a newer one.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`. `PROJECTION_FAILED` if a handler throws.
   */
  refresh(store: Store, runId: string, options?: RunReadOptions): Promise<ProjectedState<State> & { folded: number }>;
  /**
   * Returns which event last wrote each path of the state, now or at `atSeq`.
   *
   * @throws The codes of `project`.
   */
  blame(store: Store, runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<Blame>;
  /**
   * Refreshes the stored states of all runs of the store, or of the tenant of a view. Then makes this version the
   * active one, unless a higher one is, and removes the stored states of lower versions. Call it again after an
   * interruption: it skips states that are up to date.
   *
   * @throws `PROJECTION_FAILED` if a handler throws.
   */
  rebuild(store: Store, options?: RebuildOptions): Promise<RebuildReport>;
  /** Returns the active version, or `null` before the first rebuild. A view of a tenant has its own. */
  activeVersion(store: Store, options?: CallOptions): Promise<number | null>;
}

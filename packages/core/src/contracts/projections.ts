/** Projections: state of your own, folded from the events of each run and kept beside them. */
import type { CallOptions } from './common.ts';
import type { NamedProjection } from './run-appends.ts';
import type { DefinedEvent, LifecycleEventType, RunEventRecord } from './run-events.ts';
import type { RunReadOptions } from './runs.ts';
import type { EventSchemas } from './schemas.ts';
import type { Store } from './store.ts';

/**
 * Changes the draft of the state in place, or returns a new state. Nothing but state and event goes in: the same events
 * give the same state at any time.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that changes the draft returns nothing.
export type ProjectionHandler<State, Event> = (state: State, event: Event) => State | void;

/** A handler for each event type that matters, typed by their definitions. */
export type TypedHandlers<State, S extends EventSchemas> = {
  [T in keyof S & string]?: ProjectionHandler<State, DefinedEvent<S, T>>;
} & { [T in Exclude<LifecycleEventType, keyof S>]?: ProjectionHandler<State, RunEventRecord> };

/** What a projection is. */
export interface ProjectionDefinition<State> {
  /** 1 to 100 of `A–Z a–z 0–9 _ -`: a word of the keys its states are kept under. */
  name: string;
  /** An integer ≥ 1. A change of `initial` or of a handler needs a new one. */
  version: number;
  /** The state of a run before its first event; JSON. */
  initial: State;
}

/** The state of one run. */
export interface ProjectedState<State> {
  tenantId: string;
  runId: string;
  state: State;
  /** The last event that was folded in. */
  lastEventSeq: number;
}

/** The sequence of the event that last wrote each path, as JSON Pointer; 0 for what no event wrote. */
export type Blame = Record<string, number>;

/** How far a rebuild is. */
export interface RebuildProgress {
  /** Runs looked at, those of a second look included. */
  runs: number;
  /** Runs whose state was behind and is not any more. */
  refreshed: number;
}

/** How a rebuild ended. */
export interface RebuildReport extends RebuildProgress {
  /** The version that serves now: this one, unless a higher one served already. */
  activeVersion: number;
}

/** Where a rebuild stands: it has looked at a page of runs, stored a state, looked at all runs, switched the version. */
export type RebuildPoint = 'looked' | 'refreshed' | 'passed' | 'switched';

export interface RebuildOptions extends CallOptions {
  /** Called after each page of runs. */
  onProgress?: (progress: RebuildProgress) => void;
  /** Called at each named point; for tests that stop the process there. */
  probe?: (point: RebuildPoint) => void;
}

/** State folded from events by handlers, per run. */
export interface Projection<State> extends NamedProjection {
  /** The current state, or that at `atSeq`; nothing is stored. An unknown run is `RUN_NOT_FOUND`. */
  project(store: Store, runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<ProjectedState<State>>;
  /**
   * Returns the stored state, which may lag unless every append names the projection. Where none is stored, or the run was
   * redacted or restored since, it is folded from the first event and stored. `null` for an unknown run.
   */
  get(store: Store, runId: string, options?: RunReadOptions): Promise<ProjectedState<State> | null>;
  /** Folds what is new and stores the result. Of several at once none takes the state back. */
  refresh(store: Store, runId: string, options?: RunReadOptions): Promise<ProjectedState<State> & { folded: number }>;
  /** Which event last wrote each path of the state. */
  blame(store: Store, runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<Blame>;
  /**
   * Brings the stored states of all runs of the store, or of the tenant of a view, up to date, then makes this the active
   * version unless a higher one is, and removes the stored states of lower versions. Interrupted, it goes on when called
   * again: what is up to date is only looked at.
   */
  rebuild(store: Store, options?: RebuildOptions): Promise<RebuildReport>;
  /** The version that was rebuilt last and serves; a view of a tenant has its own. `null` before the first rebuild. */
  activeVersion(store: Store, options?: CallOptions): Promise<number | null>;
}
